"""The process: builds every part, starts downstream first, stops in reverse."""
