"""Post-processing of releases: noisy numbers in, better numbers out. Nothing here costs privacy."""
