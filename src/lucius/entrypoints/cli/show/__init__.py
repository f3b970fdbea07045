"""How things look in a terminal: pure functions from answers to rich renderables.

Calm on purpose: no boxes, one accent per state, the same glyphs everywhere. Meaning never hangs on
colour alone, so `NO_COLOR` and pipes lose nothing.
"""
