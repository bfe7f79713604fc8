"""Answers with error bars: count, sum, mean, median, quantile, variance, covariance, histogram."""
