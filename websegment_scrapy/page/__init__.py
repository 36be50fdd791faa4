"""HTML to ``PageTree``: decoding, parsing, layout (measured or estimated), leaves and text."""
