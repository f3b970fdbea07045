"""Which mailboxes a message goes to, and the messages that no mailbox takes yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from lucius.adapters.buses.mailbox import Mailbox
from lucius.errors import Invalid
from lucius.ports.bus import Message, Subscription

_ROUTES_KEPT: Final = 4096


class Exchange:
    """Topics, mailboxes by subscription name, and the unclaimed in the order they came."""

    def __init__(self, topics: Iterable[str]) -> None:
        self._topics = frozenset(topics)
        self._mailboxes: dict[str, Mailbox] = {}
        self._routes: dict[tuple[str, str], tuple[Mailbox, ...]] = {}
        self._unclaimed: dict[str, Message] = {}

    def __len__(self) -> int:
        """Everything unsettled, once for each mailbox that holds it."""
        return len(self._unclaimed) + sum(map(len, self._mailboxes.values()))

    def mailboxes(self) -> tuple[Mailbox, ...]:
        """All of them."""
        return tuple(self._mailboxes.values())

    def unclaimed(self) -> dict[str, int]:
        """How many messages no mailbox takes, by subject."""
        return dict(Counter(message.subject for message in self._unclaimed.values()))

    def targets(self, messages: Sequence[Message]) -> list[tuple[Mailbox, ...]]:
        """For each message the mailboxes that take it; raises `Invalid` for an unknown topic."""
        routes = self._routes
        found = []
        for message in messages:
            route = routes.get((message.topic, message.subject))
            found.append(self._route(message.topic, message.subject) if route is None else route)
        return found

    def keep(self, message: Message) -> None:
        """Nobody takes this yet: keep it for the first who does."""
        self._unclaimed.setdefault(message.message_id, message)

    def keeps(self, message_id: str) -> bool:
        """Whether this one is kept because no subscription takes it."""
        return message_id in self._unclaimed

    def forget(self, message_id: str) -> None:
        """Drop a message wherever it waits or is lent."""
        self._unclaimed.pop(message_id, None)
        for mailbox in self._mailboxes.values():
            mailbox.waiting.remove(message_id)
            mailbox.lent.pop(message_id, None)

    def mailbox(self, subscription: Subscription) -> Mailbox:
        """The mailbox of that subscription, opened if it is new.

        One name means one thing: two readers that share a name and want different things would take
        each other's messages, so the second is refused.
        """
        mailbox = self._mailboxes.get(subscription.name)
        if mailbox is None:
            return self._open(subscription)
        if mailbox.subscription is not subscription and mailbox.subscription != subscription:
            raise Invalid(
                f"Subscription {subscription.name!r} exists with other topics or subjects; use another name",
                code="SUBSCRIPTION_DIFFERS",
            )
        return mailbox

    def _open(self, subscription: Subscription) -> Mailbox:
        for topic in subscription.topics:
            self._check_topic(topic)
        mailbox = self._mailboxes[subscription.name] = Mailbox(subscription)
        self._routes.clear()
        for key, message in tuple(self._unclaimed.items()):
            if _takes(subscription, message.topic, message.subject):
                del self._unclaimed[key]
                mailbox.put(message)
        return mailbox

    def _route(self, topic: str, subject: str) -> tuple[Mailbox, ...]:
        self._check_topic(topic)
        if len(self._routes) >= _ROUTES_KEPT:
            self._routes.clear()
        found = tuple(box for box in self._mailboxes.values() if _takes(box.subscription, topic, subject))
        self._routes[topic, subject] = found
        return found

    def _check_topic(self, topic: str) -> None:
        if topic not in self._topics:
            raise Invalid(
                f"The bus has no topic {topic!r}; its topics are named when it is built", code="UNKNOWN_TOPIC"
            )


def _takes(subscription: Subscription, topic: str, subject: str) -> bool:
    return topic in subscription.topics and (not subscription.subjects or subject in subscription.subjects)
