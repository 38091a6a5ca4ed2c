"""What every word and figure on pages and in tables means: one text each, for pages, API and command line."""
