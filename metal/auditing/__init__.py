"""Judges compared with people: cells, verdicts, and statements about many cells."""
