"""Segments to what a reader wants: the main text and the title."""
