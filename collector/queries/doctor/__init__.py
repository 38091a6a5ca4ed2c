"""The doctor's questions and answers: which traces are examined, and how a diagnosis is shown."""
