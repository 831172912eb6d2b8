"""Billboard: raters ranked by how they agree with people, generators by the raters that agree
best.
"""
