"""A folder for each question: what it computes, its run, page and verb."""
