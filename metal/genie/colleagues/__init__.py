"""People beside those who rated the same outputs: what can be said without test questions."""
