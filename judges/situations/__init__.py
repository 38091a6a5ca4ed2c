"""The situations of TRACE: what went wrong between the user, the tools and the agent of a session."""
