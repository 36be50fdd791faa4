"""``PageTree`` to a partition of its leaves: the engines and what they share."""
