"""Buses: `embedded` (in this process, volatile), `sqlite` (a file that processes of one machine share)."""
