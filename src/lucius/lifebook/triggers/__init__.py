"""What starts runs: schedules, signed webhooks, dropped files; people do it through the API.

Every trigger names its runs by a key that follows from the cause: the slot of a schedule, the id of a
message, the name and content of a file. So a cause becomes one run, whatever crashes on the way and however
many processes see it; the trigger's own bookkeeping comes after the run and may be repeated.

    desk.py       make, show, remove; the edges ask here     cron.py        times of a cron expression
    schedules.py  a duty: slots that are due become runs     hooks.py       signed requests become runs
    file_drop.py  a duty: files in a folder become runs      places.py      the folder, and who has a file
    s3_drop.py    S3 notifications become runs

Slots that were missed are not caught up one by one: the latest is fired, those before are skipped. A slot
or a message whose run is refused (no credits, no such workflow) is logged and not tried again; a file is
put aside with the reason next to it. While the store is away nothing is marked, and the next round tries
again.
"""
