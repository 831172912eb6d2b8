"""Post tasks to crowdsourcing platforms and fetch the answers; each step is on disk before it
counts.
"""
