"""Implementations of the ports. Siblings never import each other."""
