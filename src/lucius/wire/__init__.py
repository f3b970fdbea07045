"""Versioned shapes at the edge: bytes to records, and refusals that point at what is wrong.

No state. A command passes `strict_json.parse` (bytes to document), `envelope.read_envelope`
(document to record), then the rules of the core: refs, payload sections, routing, admission. Each
collects what it finds and raises one `Invalid`; nothing is created on the way.
"""
