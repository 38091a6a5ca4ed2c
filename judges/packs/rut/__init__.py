"""RUT: whether a task succeeded and by which mode it failed, by an oracle on its card over the session's calls."""
