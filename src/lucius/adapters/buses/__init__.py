"""Buses: `embedded` (in this process, volatile)."""
