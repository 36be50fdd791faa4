"""Measuring engines, main texts, templates and signatures on labelled data."""
