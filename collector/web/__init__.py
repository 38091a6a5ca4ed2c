"""The pages: rendered on the server, at the port of the API, with nothing loaded from elsewhere."""
