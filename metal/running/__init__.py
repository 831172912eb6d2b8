"""Carry out a job that asks models: estimate, ask, resume, collect."""
