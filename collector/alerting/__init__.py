"""Alert rules: their figures, when they fire, and who is told. Above judging, rates and outbound, below the API."""
