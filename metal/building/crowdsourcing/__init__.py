"""Tasks posted to crowdsourcing platforms and fetched back; everything posted is recorded on disk
before it counts.
"""
