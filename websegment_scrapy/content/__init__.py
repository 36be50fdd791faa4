"""The main text of a page: its text blocks, what is measured of them, and which are kept."""
