"""Carries out a job: estimate, ask, resume, collect."""
