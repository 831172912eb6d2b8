"""Charts: figures of one criterion in, a Chart out (metal.show.view)."""
