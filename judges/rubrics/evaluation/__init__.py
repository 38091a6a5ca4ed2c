"""How far rubrics can be trusted: learned from some labelled sessions and tested on others. Pure."""
