"""Background duties of the outbox engine, one a file, each with `run_once() -> Report`."""
