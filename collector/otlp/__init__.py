"""The wire: codec, receivers, client and files."""
