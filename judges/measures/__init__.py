"""Measures of judges: against annotators, against human scores, and between repetitions."""
