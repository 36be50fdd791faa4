"""Measuring the engines on labelled data: readers, measures, tables."""
