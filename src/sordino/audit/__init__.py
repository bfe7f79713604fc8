"""Checks of every privacy claim: sensitivity search, replay on neighbours, the law of the noise, lower bounds."""
