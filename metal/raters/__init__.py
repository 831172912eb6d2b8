"""Whatever scores an output: LLM judges, automatic metrics, and strangers' metrics in isolation."""
