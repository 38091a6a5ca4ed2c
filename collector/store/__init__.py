"""Storage: clients, migrations, the group-commit writer, and all queries."""
