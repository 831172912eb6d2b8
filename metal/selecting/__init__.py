"""When a judge may answer alone, and several judges as one."""
