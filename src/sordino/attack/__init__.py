"""Attacks on what somebody published: how much it gives away about each person, against what was promised."""
