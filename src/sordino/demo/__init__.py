"""The whole story on a public table: declare, plan, ask, learn, synthesise, attack, audit, account."""
