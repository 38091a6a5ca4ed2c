"""API answers for people: tables, trees, terminals."""
