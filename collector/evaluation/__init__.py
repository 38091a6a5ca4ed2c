"""The agreement harness: a TRAIL folder through the code of production, scored against its annotations."""
