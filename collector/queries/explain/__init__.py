"""The glossary: one text for every word and figure of pages, API and command line."""
