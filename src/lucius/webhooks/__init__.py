"""Client webhooks: telling the client's own endpoints how a job goes.

A delivery is one event for one URL. Its row, with the final bytes, is inserted in the commit that
holds the event (`outgoing`), so an accepted change is never without its notification:

    PENDING ──2xx──▶ DELIVERED
       │ ▲
       │ └─ any failure: due again, later (`schedule`)
       └──── schedule used up, 410, or refused for good ──▶ EXHAUSTED

Deliveries of one job to one URL go in the order of the events: a row waits until its predecessor is
settled. Delivery is at least once: a crash between sending and recording sends again, with the same
`webhook-id`. URLs come from clients, so every one is hostile until the guard has seen it: `guard`
judges the text (also when the job is submitted), `addresses` judges what DNS answers, and `post`
connects to the very address that was judged, follows no redirect and keeps nothing of the answer
but its status.
"""
