"""Tasks posted to crowdsourcing platforms and fetched back; what was posted is on disk before it
counts.
"""
