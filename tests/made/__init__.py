"""How the datasets that come with METAL were made: `python -m tests.made.demo`, `... .mlqe
REFERENCE`.
"""
