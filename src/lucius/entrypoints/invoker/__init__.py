"""The invoker's internal HTTP API: for the temporal worker and the orchestrator, for nobody else.

    app.py       the application: who asks, which route, what became of it
    routes.py    every route        steps.py, jobs.py   what they do      probes.py   health and metrics
    door.py      one request        tokens.py           who may ask       refusals.py problem documents

No state of its own: the invoker behind it has all of it. Nothing is answered before the invoker has
answered. An error of the invoker arrives at the client as itself (`kind`); while the process drains, new
calls are refused with DRAINING, which is a promise that nothing was done.
"""

from lucius.entrypoints.invoker.app import create_invoker_app
from lucius.entrypoints.invoker.services import InvokerServices
from lucius.entrypoints.invoker.tokens import BearerTokens

__all__ = ["BearerTokens", "InvokerServices", "create_invoker_app"]
