"""How rubrics are learned from labelled sessions: areas, reasons, summaries of reasons, weights. Pure."""
