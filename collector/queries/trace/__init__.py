"""Read models of one trace."""
