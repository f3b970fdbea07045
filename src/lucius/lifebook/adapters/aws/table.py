"""The table: reads that see every write, conditional writes, and what became of them.

An action is one write with its condition. One action is one request; several are one transaction, all or
nothing. Each write has an id that the first item keeps: when the answer was lost, the id tells whether it
happened. In expressions `#name` and `:name` stand for an attribute and a value of that name.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import msgspec
from botocore.exceptions import ClientError

from lucius.errors import LuciusError, Unavailable
from lucius.lifebook.adapters.aws.faults import BUSY, CODE, AnswerLostError, BusyError, code_of, mapped
from lucius.lifebook.adapters.aws.names import KEY
from lucius.lifebook.adapters.aws.values import Item, from_wire, to_wire

WRITE_ID = "write_id"
TRIES = 12
LOST_TRIES = 2
FIRST_WAIT, LONGEST_WAIT = 0.02, 1.0
MOST_AT_ONCE = 100
_FAILED = "ConditionalCheckFailed"
_CALLS = {"Put": "put_item", "Update": "update_item", "Delete": "delete_item"}


class Action(msgspec.Struct, frozen=True, kw_only=True):
    """One write."""

    kind: str
    key: str
    request: dict[str, Any]


class ConditionError(LuciusError):
    """A condition did not hold; nothing was written. `found[i]`: None, or the item that action i met."""

    code = "CONDITION_FAILED"

    def __init__(self, failed: Sequence[bool], found: Sequence[Item | None]) -> None:
        super().__init__("A condition of a write did not hold")
        self.failed = tuple(failed)
        self.found = tuple(found)


def put(item: Mapping[str, Any], where: str, **values: Any) -> Action:
    """Write a whole item."""
    return Action(
        kind="Put",
        key=item[KEY],
        request={"Item": to_wire(item), **_expressions(values, ConditionExpression=where)},
    )


def update(key: str, change: str, where: str, **values: Any) -> Action:
    """Change attributes of an item."""
    expressions = _expressions(values, UpdateExpression=change, ConditionExpression=where)
    return Action(kind="Update", key=key, request={"Key": to_wire({KEY: key}), **expressions})


def delete(key: str) -> Action:
    """Remove an item, if it is there."""
    return Action(kind="Delete", key=key, request={"Key": to_wire({KEY: key})})


def _expressions(values: Mapping[str, Any], **texts: str) -> dict[str, Any]:
    names = {name for text in texts.values() for name in re.findall(r"#(\w+)", text)}
    found: dict[str, Any] = {kind: text for kind, text in texts.items() if text}
    if names:
        found["ExpressionAttributeNames"] = {f"#{name}": name for name in names}
    if values:
        found["ExpressionAttributeValues"] = {f":{name}": typed for name, typed in to_wire(values).items()}
    return found


class Table:
    """One table."""

    def __init__(
        self,
        client: Any,
        name: str,
        *,
        sleep: Callable[[float], Awaitable[None]],
        chance: Callable[[], float],
    ) -> None:
        """`chance` in [0, 1) spreads the tries of those who met."""
        self._client = client
        self.name = name
        self._sleep = sleep
        self._chance = chance

    async def get(self, key: str) -> Item | None:
        """An item as it is now."""
        with mapped(f"read {key}"):
            answer = await self._client.get_item(
                TableName=self.name, Key=to_wire({KEY: key}), ConsistentRead=True
            )
        return from_wire(answer["Item"]) if "Item" in answer else None

    async def get_all(self, keys: Sequence[str]) -> dict[str, Item]:
        """Those of the items that are there, as they are now."""
        found: dict[str, Item] = {}
        for start in range(0, len(keys), MOST_AT_ONCE):
            wanted = [to_wire({KEY: key}) for key in keys[start : start + MOST_AT_ONCE]]
            for attempt in range(TRIES):
                with mapped("read items"):
                    answer = await self._client.batch_get_item(
                        RequestItems={self.name: {"Keys": wanted, "ConsistentRead": True}}
                    )
                items = map(from_wire, answer["Responses"].get(self.name, []))
                found |= {item[KEY]: item for item in items}
                wanted = answer.get("UnprocessedKeys", {}).get(self.name, {}).get("Keys", [])
                if not wanted:
                    break
                await self._wait(attempt)
            else:
                raise Unavailable("AWS did not read all items", code=CODE)
        return found

    async def query(self, index: str, where: str, values: Mapping[str, Any], **more: Any) -> list[Item]:
        """One page of an index: what its projection has."""
        with mapped(f"query {index}"):
            answer = await self._client.query(
                TableName=self.name,
                IndexName=index,
                **_expressions(values, KeyConditionExpression=where),
                **more,
            )
        return [from_wire(item) for item in answer["Items"]]

    async def query_all(self, index: str, where: str, values: Mapping[str, Any]) -> list[Item]:
        """All of it."""
        found: list[Item] = []
        more: dict[str, Any] = {}
        while True:
            with mapped(f"query {index}"):
                answer = await self._client.query(
                    TableName=self.name,
                    IndexName=index,
                    **_expressions(values, KeyConditionExpression=where),
                    **more,
                )
            found += map(from_wire, answer["Items"])
            if "LastEvaluatedKey" not in answer:
                return found
            more = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}

    async def write(self, *actions: Action, write_id: str) -> None:
        """Do all of it or nothing; raises `ConditionError`, `Unavailable`.

        The first action must leave `write_id` in its item: by it a write is known whose answer was lost.
        """
        lost = 0
        for attempt in range(TRIES):
            try:
                return await self._send(actions, write_id)
            except BusyError:
                await self._wait(attempt)
            except ConditionError as error:
                if (error.found[0] or {}).get(WRITE_ID) == write_id:
                    return None  # an earlier try of ours passed, and its answer was lost
                raise
            except AnswerLostError:
                if ((await self.get(actions[0].key)) or {}).get(WRITE_ID) == write_id:
                    return None
                # It may still be on its way: the same write again meets either nothing or itself.
                lost += 1
                if lost == LOST_TRIES:
                    raise
        raise Unavailable("The table is too busy for this write; try again later", code=CODE)

    async def _send(self, actions: Sequence[Action], token: str) -> None:
        told = {"TableName": self.name, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
        with mapped(f"write {actions[0].key}"):
            try:
                if len(actions) == 1:
                    call = getattr(self._client, _CALLS[actions[0].kind])
                    await call(**actions[0].request, **told)
                else:
                    items = [{action.kind: {**action.request, **told}} for action in actions]
                    await self._client.transact_write_items(TransactItems=items, ClientRequestToken=token)
            except ClientError as error:
                _raise_refused(error)
                raise

    async def _wait(self, attempt: int) -> None:
        longest = min(LONGEST_WAIT, FIRST_WAIT * 2**attempt)
        await self._sleep(longest * (0.5 + self._chance() / 2))


def _raise_refused(error: ClientError) -> None:
    """Raise what a failed condition or a busy table means; everything else is left to the caller."""
    if code_of(error) == f"{_FAILED}Exception":
        found = error.response.get("Item")
        raise ConditionError([True], [from_wire(found) if found else None]) from error
    if code_of(error) != "TransactionCanceledException":
        return
    reasons = error.response.get("CancellationReasons", [])
    failed = [reason.get("Code") == _FAILED for reason in reasons]
    if any(failed):
        items = [reason.get("Item") for reason in reasons]
        raise ConditionError(failed, [from_wire(item) if item else None for item in items]) from error
    if any(reason.get("Code") in BUSY for reason in reasons):
        raise BusyError(f"Two transactions met: {error}", code=CODE) from error
