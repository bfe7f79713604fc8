"""Exact totals of statistics over a table: on local threads, or on Spark."""
