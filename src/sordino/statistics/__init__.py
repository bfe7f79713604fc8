"""Bounded per-record maps and their exact sums; each states its integer sensitivity in one place."""
