"""Loaders of public data sets: from a folder, or downloaded once from whoever publishes them and kept."""
