"""Training and model files: labelled pages in, small files of plain numbers out."""
