"""Judges: from prompts to ratings, and the baselines that every LLM judge has to beat."""
