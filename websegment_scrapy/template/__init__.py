"""Templates: what a site repeats on its pages, and what a page alone says of its nodes."""
