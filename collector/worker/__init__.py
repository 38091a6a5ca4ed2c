"""What durable background work is made of."""
