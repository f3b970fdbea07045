"""Platform services: what a team writes (`service`), what it gets (`step`), and what runs it (`runner`)."""
