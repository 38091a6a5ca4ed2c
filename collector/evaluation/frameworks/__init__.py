"""Reconstruction measured: raw captures of agent frameworks against the truth of the programs that sent them."""
