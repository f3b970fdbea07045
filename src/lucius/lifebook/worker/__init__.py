"""The worker: takes a message, holds the run, runs its steps, lets go."""
