"""Turns of simulated users, written onto task cards by a model."""
