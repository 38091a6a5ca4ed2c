"""How far judges can be trusted, in figures: against annotators, against human scores, and against themselves."""
