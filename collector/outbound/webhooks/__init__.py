"""Findings posted to users' endpoints while the run goes on."""
