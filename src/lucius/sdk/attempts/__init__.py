"""Where a service remembers its attempts: a SQLite file, an Azure table, an object store."""
