"""Read tables as people have them: every cell as it is spelled, in whatever shape, with answers in
words.
"""
