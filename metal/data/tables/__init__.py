"""Tables as people have them: files are read with the spelling of every cell, shapes are
recognized, and answers in words are coded.
"""
