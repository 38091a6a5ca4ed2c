"""What is derived of a judged trace where it is stored: its errors, and the facts that rates count."""
