"""Who is asking, and may they.

A credential (API key, JWT, or none in open mode) becomes a frozen `Principal`; everything after
that asks the principal, never the credential. Services answer with callback tokens, which are bound
to one attempt and name no principal at all.

Nothing here does I/O: stores and key sources are handed in, and so are time and random bytes.
Every check fails closed: what cannot be read, found or verified is `Unauthenticated`, and the
message never tells an attacker which part was right.
"""
