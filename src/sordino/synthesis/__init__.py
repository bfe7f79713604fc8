"""Generators of tables: models that are fitted through the gate, and rows drawn from what was released."""
