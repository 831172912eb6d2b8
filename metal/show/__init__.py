"""The audit as a page for people: tables and charts from a run's tables, nothing computed again."""
