"""The commands, one group a file. Each module offers plain functions; `app` gives them their names."""
