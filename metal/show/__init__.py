"""What people look at: pages, terminal, Markdown, LaTeX, charts."""
