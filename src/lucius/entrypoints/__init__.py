"""Doors: where people and programs come in. They read, ask a use case, and answer."""
