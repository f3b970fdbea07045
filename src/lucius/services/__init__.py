"""Platform services that come with Lucius: `echo`, which serves every step type and does nothing."""
