"""What a simulated user says: written by a model, verified by it and by code."""
