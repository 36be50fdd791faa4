"""Measurements: what a decision costs in small and large stores, and that none is lost."""
