"""The domain model: frozen data, the error tree, attribute keys and ClickHouse migrations. Imports nothing of ours."""
