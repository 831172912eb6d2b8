"""What people look at: pages, terminal output, Markdown, LaTeX and charts."""
