"""The local app, `metal view`: pages on the datasets and runs of a folder, for one person on this
machine.
"""
