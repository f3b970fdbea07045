"""Background duties of lifebook runs: one thing each, done once a call, with a report."""
