"""Engines: two ways to drive jobs by one set of rules."""
