"""The gate: the ledger, the noise, and the session, the only place where a total, noise and a budget meet."""
