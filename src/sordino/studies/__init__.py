"""One module per paper: what it claims beside what is true. ``published/`` holds methods that are not private."""
