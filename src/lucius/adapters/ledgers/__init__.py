"""Ledgers."""
