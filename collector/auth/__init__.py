"""Keys: who may send spans, read, label and administer, and in which project."""
