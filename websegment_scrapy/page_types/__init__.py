"""What kind of page a page is: its functional type, by the terms in their positions."""
