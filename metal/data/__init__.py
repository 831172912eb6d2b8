"""The waist: records, the ratings table, dataset folders, people, languages, and other people's
formats.
"""
