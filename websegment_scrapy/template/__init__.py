"""What is template and what is content: by a site's repetition and by a page's own look."""
