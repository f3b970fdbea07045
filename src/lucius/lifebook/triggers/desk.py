"""Schedules and hooks, for the edges."""

from __future__ import annotations


class Triggers:
    """Makes, shows and removes them."""
