"""Durable background work: a keyed queue, a worker with retries and poison isolation, and their small parts."""
