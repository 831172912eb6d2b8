"""A folder for each question: what it computes, its run, its page and its verb."""
