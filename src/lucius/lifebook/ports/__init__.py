"""What lifebook runs need from outside: a store of records, a queue of messages, a place for events."""
