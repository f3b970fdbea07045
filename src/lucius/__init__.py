"""Lucius: a control plane for multi-tenant document jobs."""

__version__ = "0.1.0"
