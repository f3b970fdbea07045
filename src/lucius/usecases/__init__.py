"""What can be done with Lucius, one verb a file.

Use cases know who asks (a principal), what is configured (schematics) and whom to ask (the engine, the
ledger). They hold no state and change none: that is the engine's business.
"""
