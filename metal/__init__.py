"""METAL: whether an LLM judge can be trusted, in which language, for which question."""

__version__ = "0.1.0"
