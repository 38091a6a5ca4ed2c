"""Simulated users: they speak turn by turn to an agent, and each exchange is a trace."""
