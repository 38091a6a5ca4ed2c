"""From committed spans to stored findings: dirty traces, judging, catching up after a restart."""
