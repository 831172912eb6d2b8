"""Generators ranked by people."""
