"""Whether a judge has changed: two audits side by side, and a stream watched."""
