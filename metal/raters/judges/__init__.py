"""Judges: prompts in, ratings out. So far the baselines that every LLM judge has to beat."""
