"""What the rules need of the world: small Protocols that speak of jobs, not of storage.

A port says what it can do in `capabilities`; nothing falls back silently. Adapters do not inherit
from ports; `tests/architecture` binds them.
"""
