"""Pages to look at: the report of a database as one HTML file, and the viewer."""
