"""Where credentials rest: API keys in SQLite, callback keys in a file, JWKS at their issuer."""
