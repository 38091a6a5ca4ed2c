"""Checks: closed questions about the items of an exchange or a session, and what is made of the answers."""
