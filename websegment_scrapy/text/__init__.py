"""What a reader wants of a page: its main text, plain or as Markdown, its title, its roles."""
