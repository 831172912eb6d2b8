"""The board: raters and generators on it, from small made worlds and the released boards."""
