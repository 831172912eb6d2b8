"""METAL's version, for everything that writes it beside its figures."""

__version__ = "0.2.0"
