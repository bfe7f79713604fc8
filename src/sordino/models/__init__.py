"""Estimators in the manner of scikit-learn: each asks for statistics and sees releases only."""
