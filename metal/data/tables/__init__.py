"""Tables as people have them: files read with the spelling of every cell, shapes recognized,
answers in words coded.
"""
