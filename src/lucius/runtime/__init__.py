"""Where Lucius is put together and kept alive: settings, bootstrap, lifecycle.

The only room with a clock, with chance and with concrete classes.
"""
