"""Human labels of findings and runs, and the label queue."""
