"""Judges of packs: exchanges while a session goes on, and the session at its close."""
