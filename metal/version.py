"""METAL's version, for whatever signs a figure with it."""

__version__ = "0.2.0"
