"""What starts runs: schedules, signed webhooks, dropped files; people do it through the API."""
