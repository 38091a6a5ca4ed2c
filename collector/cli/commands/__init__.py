"""One command a module; a module is imported when its command runs."""
