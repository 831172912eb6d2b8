"""Scores as people would give them, from few labels and a judge."""
