"""The only package that composes the others: I/O, asyncio, threads and the command line live here."""
