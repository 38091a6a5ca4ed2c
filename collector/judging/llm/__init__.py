"""LLM judges at work: which runs go before them, the calls, and what is stored of it. A thread of its own."""
