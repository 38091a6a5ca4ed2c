"""What people say of findings and runs, and what to label next."""
