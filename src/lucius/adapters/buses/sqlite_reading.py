"""Looking into the file of the SQLite bus without writing: quick, and never in a writer's way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import apsw
import msgspec

from lucius.adapters.buses.sqlite_boxes import UNCLAIMED, Tenants
from lucius.adapters.buses.sqlite_file import open_reader, unavailable
from lucius.adapters.buses.sqlite_parcels import message_of
from lucius.ports.bus import DeadMessage


class Reading:
    """A connection that only reads; what goes wrong is `Unavailable`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection = open_reader(path)

    def close(self) -> None:
        """Let the file go."""
        self._connection.close()

    def version(self) -> int:
        """Another number after every commit, of this process or of another."""
        return int(self._ask("PRAGMA data_version")[0][0])

    def due(self) -> int | None:
        """When the next lock runs out."""
        found = self._ask("SELECT min(locked_until) FROM parcels WHERE token IS NOT NULL")[0][0]
        return None if found is None else int(found)

    def waiting(self, box: int, tenants: Tenants) -> int:
        """How many messages wait that such a reader may see."""
        if tenants is None:
            found = self._ask("SELECT coalesce(sum(waiting), 0) FROM lanes WHERE box = ?", box)
        else:
            found = self._ask(
                "SELECT coalesce(sum(waiting), 0) FROM lanes "
                "WHERE box = ? AND tenant IN (SELECT value FROM json_each(?))",
                box,
                msgspec.json.encode(sorted(tenants)).decode(),
            )
        return int(found[0][0])

    def unread(self, message_ids: Sequence[str], is_read: Callable[[int, str], bool] | None) -> list[bool]:
        """Which of these wait and were never lent; with `is_read`, only in a box that says so."""
        return [self._unread(message_id, is_read) for message_id in message_ids]

    def is_read(self, box: int, tenant: str, since: int) -> bool:
        """Whether somebody who may see this tenant has asked there since."""
        return bool(
            self._ask(
                "SELECT 1 FROM readers WHERE box = ? AND asked_at >= ? AND (tenants = '' "
                "OR EXISTS (SELECT 1 FROM json_each(tenants) WHERE value = ?)) LIMIT 1",
                box,
                since,
                tenant,
            )
        )

    def backlog(self) -> dict[str, int]:
        """Waiting messages by subscription name."""
        return dict(
            self._ask(
                "SELECT name, (SELECT coalesce(sum(waiting), 0) FROM lanes WHERE lanes.box = boxes.box) "
                "FROM boxes ORDER BY box"
            )
        )

    def unclaimed(self) -> dict[str, int]:
        """Messages that no subscription takes, by subject."""
        return dict(self._ask("SELECT subject, count(*) FROM parcels WHERE box = ? GROUP BY 1", UNCLAIMED))

    def dead_letters(self, limit: int) -> list[DeadMessage]:
        """Newest first."""
        rows = self._ask(
            "SELECT subscription, reason, dead_at, deliveries, message_id, topic, subject, tenant, body, "
            "properties FROM dead ORDER BY id DESC LIMIT ?",
            max(limit, 0),
        )
        return [
            DeadMessage(
                message=message_of(message),
                subscription=subscription,
                reason=reason,
                delivery_count=deliveries,
                dead_at=dead_at,
            )
            for subscription, reason, dead_at, deliveries, *message in rows
        ]

    def _unread(self, message_id: str, is_read: Callable[[int, str], bool] | None) -> bool:
        rows = self._ask(
            "SELECT box, tenant FROM parcels WHERE message_id = ? AND token IS NULL AND deliveries = 0",
            message_id,
        )
        if is_read is None:
            return bool(rows)
        return any(box != UNCLAIMED and is_read(box, tenant) for box, tenant in rows)

    def _ask(self, sql: str, *values: object) -> list[Any]:
        try:
            return self._connection.execute(sql, values).fetchall()
        except apsw.Error as error:
            raise unavailable(self._path, error) from error
