"""Templates: what a site repeats on its pages, and which nodes of a page belong to it."""
