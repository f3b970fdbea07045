"""The ways to Lucius: HTTP, or a bus."""
