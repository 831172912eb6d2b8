"""Tables of shared tasks: raters compared by declared tasks, averaged by declared weights."""
