"""Charts: each function makes a Chart (metal.show.view) from figures of one criterion."""
