"""Runs in DynamoDB, messages in SQS, events in EventBridge.

    connecting.py  clients, opened once           table.py     conditional writes, and what became of them
    runs.py        `DynamoRuns`: the store        wallets.py   credits          outbox.py  events, untold
    triggers.py    `DynamoTriggers`               listing.py   the two indexes
    queue.py       `SqsQueue`                     telling.py   `EventBridgeAnalytics`
    names.py       what things are called         ids.py       what items are called
    values.py      the types of DynamoDB          faults.py    its errors as ours
    tables.py      how table and queues are made, for local stacks; production has Terraform

State: everything is in one table. A run's item is the contract's; `idem#…`, `wallet#…`, `event#…`,
`deposit#…`, `schedule#…` and `hook#…` lie beside it under the same key. What must be one is one
TransactWriteItems.

How it fails: a write whose answer was lost is looked up by the id of the write, never guessed. Throttling and
conflicts of transactions are tried again with growing waits, then `Unavailable`. A request that AWS finds
malformed is `Broken`.
"""
