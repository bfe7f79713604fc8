"""Methods as they were published, re-written from their printed formulas. NOT PRIVATE; for studies alone."""
