"""Lanes, topics and modes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lucius.core.routing import (
    BURST,
    DEFAULT,
    LANES,
    RoutingPolicy,
    TenantRouting,
    lane_of,
    normalise,
    ordering_key,
    reply_topics,
    route,
    routing_key,
    topics,
)
from lucius.errors import Forbidden, Invalid

FREE = RoutingPolicy(burst_allowed=True)

# Computed with a bitwise CRC-32 (polynomial EDB88320, check value CBF43926), not with zlib.
GOLDEN: list[tuple[str, str | None, int]] = [
    ("tenant_a", None, 15),
    ("tenant_b", None, 5),
    ("tenant_a", "doc1", 3),
    ("acme", None, 14),
    ("globex", None, 10),
    ("initech", None, 0),
    ("umbrella", None, 6),
    ("hooli", None, 14),
    ("stark", None, 10),
    ("wayne-ent", None, 12),
    ("tyrell", None, 14),
    ("cyberdyne", None, 11),
    ("soylent", None, 5),
    ("a", None, 3),
    ("0", None, 1),
    ("z9", None, 11),
    ("tenant_c", None, 3),
    ("tenant_d", None, 0),
    ("tenant-01", None, 2),
    ("tenant-02", None, 8),
    ("tenant-03", None, 14),
    ("x_y-z", None, 5),
    ("northwind", None, 4),
    ("contoso", None, 15),
    ("fabrikam", None, 1),
    ("litware", None, 3),
    ("proseware", None, 9),
    ("a" * 63, None, 14),
    ("acme", "doc1", 10),
    ("globex", "doc2", 14),
    ("initech", "claim-17", 0),
    ("umbrella", "2031/05/a.pdf", 4),
    ("hooli", "urn:x:1", 14),
    ("stark", "inv@7", 14),
    ("wayne-ent", "d", 7),
    ("tyrell", "9", 6),
    ("cyberdyne", "policy.v3", 4),
    ("soylent", "scan-000001", 13),
    ("a", "batch/1", 2),
    ("0", "batch/2", 0),
    ("z9", "q", 4),
    ("tenant_c", "letter:4", 15),
    ("tenant_d", "x" * 200, 1),
    ("tenant-01", "a-b-c", 0),
    ("tenant-02", "0001", 11),
    ("tenant-03", "0002", 1),
    ("x_y-z", "0003", 3),
    ("northwind", "m/n/o", 9),
    ("contoso", "p.q.r", 4),
    ("fabrikam", "form_1", 11),
    ("litware", "form_2", 2),
    ("proseware", "z@z", 14),
    ("a" * 63, "end", 9),
]

IDS = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,20}", fullmatch=True)
BLANKS = st.text(" \t\r\n", max_size=3)
MODES = st.sampled_from([None, DEFAULT, BURST])
POLICIES = st.builds(
    RoutingPolicy,
    mode=st.sampled_from([DEFAULT, BURST]),
    burst_allowed=st.booleans(),
    two_grids=st.booleans(),
    tenants=st.dictionaries(
        st.sampled_from(["acme", "other"]),
        st.builds(TenantRouting, mode=MODES, burst_allowed=st.none() | st.booleans()),
    ),
)


@pytest.mark.parametrize(("tenant", "doc", "lane"), GOLDEN)
def test_golden_lanes(tenant: str, doc: str | None, lane: int) -> None:
    """The lane of a tenant, or of a tenant and document in BURST, never changes between versions."""
    routing = route(tenant_id=tenant, doc_id=doc, requested=BURST if doc else DEFAULT, policy=FREE)
    assert routing.lane == lane
    assert routing.topic == f"global-bus-p{lane}"
    assert routing.reply_topic == f"global-bus-replies-p{lane}"
    assert routing.routing_key_used == tenant + (doc or "")


def test_default_ignores_the_document() -> None:
    """In DEFAULT all of a tenant's documents share its lane."""
    routing = route(tenant_id="tenant_a", doc_id="doc1", requested=None, policy=FREE)
    assert (routing.lane, routing.routing_key_used) == (15, "tenant_a")


@given(IDS, IDS, BLANKS, BLANKS)
def test_spelling_does_not_move_a_job(tenant: str, doc: str, before: str, after: str) -> None:
    """Case and surrounding blanks change neither lane nor key."""
    plain = route(tenant_id=tenant.lower(), doc_id=doc.lower(), requested=BURST, policy=FREE)
    spelled = route(
        tenant_id=before + tenant.upper() + after,
        doc_id=after + doc.upper() + before,
        requested=BURST,
        policy=FREE,
    )
    assert spelled == plain


@given(st.text())
def test_lanes_are_on_the_grid(key: str) -> None:
    """Every key, in any script, has one of the 16 lanes."""
    assert lane_of(key) in range(LANES)


def test_only_the_ordering_key_tells_pairs_apart() -> None:
    """Two pairs that share a routing key have ordering keys of their own."""
    assert routing_key("ab", "c", BURST) == routing_key("a", "bc", BURST)
    assert ordering_key("ab", "c") != ordering_key("a", "bc")
    assert ordering_key("tenant_a", "doc1") == "tenant_a\x1fdoc1"


@given(st.tuples(IDS, IDS), st.tuples(IDS, IDS))
def test_ordering_keys_are_injective(one: tuple[str, str], two: tuple[str, str]) -> None:
    """Different tenant and document pairs never share an ordering key."""
    assert (ordering_key(*one) == ordering_key(*two)) is (one == two)


def test_normalising_keeps_control_characters() -> None:
    """A separator at the end of an id is left for the grammar to refuse, not trimmed away."""
    assert normalise(" \tACME\x1f\n") == "acme\x1f"


@pytest.mark.parametrize(("mode", "topic"), [(DEFAULT, "global-default-p15"), (BURST, "global-burst-p3")])
def test_two_grids(mode: str, topic: str) -> None:
    """The older scheme gives each mode topics of its own and leaves replies where they were."""
    policy = RoutingPolicy(burst_allowed=True, two_grids=True)
    routing = route(tenant_id="tenant_a", doc_id="doc1", requested=mode, policy=policy)
    assert routing.topic == topic
    assert routing.topic in topics(two_grids=True)
    assert routing.reply_topic == f"global-bus-replies-p{routing.lane}"


def test_topic_lists_are_complete() -> None:
    """The lists name each topic once: 16, 32 in the older scheme, 16 for replies."""
    assert topics() == tuple(f"global-bus-p{lane}" for lane in range(16))
    assert len(set(topics(two_grids=True))) == 32
    assert reply_topics() == tuple(f"global-bus-replies-p{lane}" for lane in range(16))


@given(POLICIES, MODES)
def test_precedence(policy: RoutingPolicy, requested: str | None) -> None:
    """Request, then tenant, then global; BURST only with leave; the reason is always told."""
    own = policy.tenants.get("acme", TenantRouting())
    leave = policy.burst_allowed if own.burst_allowed is None else own.burst_allowed
    if requested == BURST and not leave:
        with pytest.raises(Forbidden) as refusal:
            route(tenant_id="ACME", doc_id="d", requested=requested, policy=policy)
        assert (refusal.value.code, refusal.value.status) == ("BURST_NOT_ALLOWED", 403)
        return
    routing = route(tenant_id="ACME", doc_id="d", requested=requested, policy=policy)
    if requested:
        wanted, source = requested, "REQUEST"
    elif own.mode:
        wanted, source = own.mode, "TENANT_CONFIG"
    else:
        wanted, source = policy.mode, "GLOBAL_CONFIG"
    assert routing.mode == (wanted if leave else DEFAULT)
    assert routing.decision_source == source
    assert ("not allowed" in routing.decision_reason) is (routing.mode != wanted)


@pytest.mark.parametrize(
    "policy",
    [
        RoutingPolicy(mode=BURST, burst_allowed=True),
        RoutingPolicy(tenants={"acme": TenantRouting(mode=BURST, burst_allowed=True)}),
    ],
)
@pytest.mark.parametrize("doc_id", [None, ""])
def test_burst_needs_a_document_wherever_it_comes_from(policy: RoutingPolicy, doc_id: str | None) -> None:
    """A configured BURST is refused without a document too, and an explicit DEFAULT is the way out."""
    with pytest.raises(Invalid) as refusal:
        route(tenant_id="acme", doc_id=doc_id, requested=None, policy=policy)
    assert refusal.value.code == "BURST_NEEDS_DOC_ID"
    assert [problem.pointer for problem in refusal.value.problems] == ["/doc_id"]
    assert route(tenant_id="acme", doc_id=doc_id, requested=DEFAULT, policy=policy).mode == DEFAULT
