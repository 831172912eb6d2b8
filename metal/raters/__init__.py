"""Whatever scores an output: LLM judges, functions, metrics."""
