"""Reviews: checks whose items are what was found, asked of a model that did not find it."""
