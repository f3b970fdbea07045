"""Where configuration comes from. `files` reads a directory; see docs/protocols.md for its format.

The way of a file: bytes → `reading` (values with places) → `section` (strict fields) → `recipes`,
`tenants`, `general` (records) → `assemble` (one catalogue, or every problem) → `files` (the last
good one).
"""
