"""Clients of AWS, opened once for a process and closed once.

Every request has bounds: three seconds to connect, ten for an answer (SQS: as long as it may wait, and ten),
four tries in all. Credentials, region and endpoint come from the surroundings (`AWS_…`) unless given.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Any

from aiobotocore.config import AioConfig
from aiobotocore.session import AioSession

from lucius.lifebook.adapters.aws.names import REGION
from lucius.lifebook.ports.queue import MAX_WAIT_SECONDS

SERVICES = ("dynamodb", "sqs", "events")
CONNECT_SECONDS = 3
ANSWER_SECONDS = 10
TRIES = 4
CONNECTIONS = 64


class Clients:
    """Open clients. Stores and queues borrow them; whoever opened them closes them."""

    def __init__(self, opened: dict[str, Any], stack: AsyncExitStack) -> None:
        self._opened = opened
        self._stack = stack

    @property
    def dynamodb(self) -> Any:
        """For `DynamoRuns` and `DynamoTriggers`."""
        return self._opened["dynamodb"]

    @property
    def sqs(self) -> Any:
        """For `SqsQueue`."""
        return self._opened["sqs"]

    @property
    def events(self) -> Any:
        """For `EventBridgeAnalytics`."""
        return self._opened["events"]

    async def close(self) -> None:
        """Close all connections."""
        await self._stack.aclose()


async def connect(
    *,
    region: str = REGION,
    endpoint: str | None = None,
    access_key_id: str | None = None,
    secret_access_key: str | None = None,
    services: Sequence[str] = SERVICES,
    tries: int = TRIES,
    session: AioSession | None = None,
) -> Clients:
    """Open clients for `services`; each costs a moment, so a Lambda asks for what it uses.

    `session`: keeps what it has read of AWS's definitions, for those who connect again and again.
    """
    session = session or AioSession()
    async with AsyncExitStack() as stack:
        opened = {}
        for service in services:
            waits = MAX_WAIT_SECONDS if service == "sqs" else 0
            config = AioConfig(
                connect_timeout=CONNECT_SECONDS,
                read_timeout=ANSWER_SECONDS + waits,
                retries={"mode": "standard", "total_max_attempts": tries},
                max_pool_connections=CONNECTIONS,
            )
            client = session.create_client(
                service,
                region_name=region,
                endpoint_url=endpoint,
                aws_access_key_id=access_key_id,
                aws_secret_access_key=secret_access_key,
                config=config,
            )
            opened[service] = await stack.enter_async_context(client)
        return Clients(opened, stack.pop_all())
