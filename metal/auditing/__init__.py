"""Judges held against people: cells, verdicts, what is said of many cells."""
