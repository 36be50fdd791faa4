"""Whole collections at once: archives in, Parquet out, near-duplicates among all pages."""
