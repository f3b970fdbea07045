"""The settings of stores and buses outside this machine, by the names that deployments already use.

This version keeps its ledger in SQLite and has no Service Bus adapter. So that nobody believes otherwise,
what would change where jobs are kept or sent is refused, and mere names are told to have no effect
(`idle.py`).
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field, SecretStr, field_validator

from lucius.core.routing import LANES


class StorageSettings(BaseModel):
    """Where jobs are kept, and what carries messages."""

    # storage and bus
    storage_backend: Literal["sqlite", "ledger", "table"] = "sqlite"
    """`sqlite` is the only one of this version; `ledger` and `table` are known names and refused."""
    table_connection: SecretStr | None = None
    """How to reach Azure Tables. No effect in this version: for the table backends, when they come."""
    servicebus_connection: SecretStr | None = None
    """Connection string of Azure Service Bus. Refused: this version has no Service Bus adapter."""
    servicebus_reply_prefix: str = Field(default="global-bus-replies-p", min_length=1)
    """Reply topics are this and the lane. No effect in this version: for the Service Bus adapter."""
    servicebus_reply_subscription: str = Field(default="lucius-invoker", min_length=1)
    """The subscription that `lucius invoker` reads replies from; all invokers share it."""
    servicebus_lanes: int = LANES
    """How many lanes each grid of topics has. Always 16: services rely on it, other numbers are refused."""
    ledger_table: str | None = None
    """Table of jobs and steps. No effect in this version: for the table backends, when they come."""
    idempotency_table: str | None = None
    """Table of idempotency keys. No effect in this version: for the table backends, when they come."""
    jobs_table: str | None = None
    """Table of jobs. No effect in this version: for the table backends, when they come."""
    steps_table: str | None = None
    """Table of steps. No effect in this version: for the table backends, when they come."""
    job_index_table: str | None = None
    """Table that lists jobs. No effect in this version: for the table backends, when they come."""
    inflight_table: str | None = None
    """Table that counts open jobs. No effect in this version: for the table backends, when they come."""

    @field_validator("storage_backend")
    @classmethod
    def _only_sqlite(cls, given: str) -> str:
        if given != "sqlite":
            raise ValueError(f"{given} is not part of this version, which keeps jobs in SQLite; set sqlite")
        return given

    @field_validator("servicebus_connection")
    @classmethod
    def _no_service_bus(cls, given: SecretStr | None) -> SecretStr | None:
        # An empty variable is how many deployments say that there is none.
        if given is not None and given.get_secret_value():
            raise ValueError("this version has no Service Bus adapter; unset it")
        return None

    @field_validator("servicebus_lanes")
    @classmethod
    def _lanes(cls, given: int) -> int:
        if given != LANES:
            raise ValueError(f"must be {LANES}: lanes are part of the contract with services")
        return given
