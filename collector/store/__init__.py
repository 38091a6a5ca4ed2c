"""The ClickHouse store: client, migrations, group-commit writer and queries."""
