"""Read models: what the API, the pages and the data sets show."""
