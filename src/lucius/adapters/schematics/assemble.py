"""From the bytes of all files to one catalogue, or to everything that is wrong with them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from lucius.adapters.schematics.general import General, build_general
from lucius.adapters.schematics.reading import Document, Unreadable, read_document
from lucius.adapters.schematics.recipes import DEFAULTS, build_protocol
from lucius.adapters.schematics.source import GENERAL, PROTOCOLS, TENANTS
from lucius.adapters.schematics.tenants import build_tenants
from lucius.core.pointer import child
from lucius.core.protocol import Protocol, StepRecipe
from lucius.core.routing import RoutingPolicy, TenantRouting
from lucius.ports.schematics import Catalogue, ConfigProblem, TenantSettings

SHIPPED = "(shipped)/"
Built = tuple[Document, Protocol]


def version_of(files: Mapping[str, bytes]) -> str:
    """A hash over names and contents."""
    digest = hashlib.sha256()
    for name, raw in sorted(files.items()):
        digest.update(f"{len(name)}:{name}{len(raw)}:".encode())
        digest.update(raw)
    return digest.hexdigest()[:16]


def assemble(
    files: Mapping[str, bytes], now: int, defaults: StepRecipe = DEFAULTS
) -> tuple[Catalogue, list[ConfigProblem]]:
    """The catalogue of these files; worth something only if there are no problems."""
    problems: list[ConfigProblem] = []
    documents = _documents(files, problems)
    general = build_general(_named(documents, GENERAL), problems)
    tenants = build_tenants(_named(documents, TENANTS), general.defaults, problems)
    shipped = _recipes(documents, f"{SHIPPED}{PROTOCOLS}/", problems, defaults)
    own = _recipes(documents, f"{PROTOCOLS}/", problems, defaults)
    catalogue = Catalogue(
        version=version_of(files),
        loaded_at=now,
        defaults=general.defaults,
        routing=_routing(general, tenants),
        ref_policy=msgspec.structs.replace(
            general.ref_policy, tenants={name: one.refs for name, one in tenants.items()}
        ),
        by_name=MappingProxyType(_by_name(shipped | own, problems)),
        tenants=MappingProxyType(tenants),
    )
    return catalogue, sorted(problems, key=lambda one: (one.file, one.line, one.column))


def _routing(general: General, tenants: Mapping[str, TenantSettings]) -> RoutingPolicy:
    return RoutingPolicy(
        mode=general.default_mode,
        burst_allowed=general.defaults.burst_allowed,
        two_grids=general.two_grids,
        tenants={
            name: TenantRouting(mode=one.mode, burst_allowed=one.burst_allowed)
            for name, one in tenants.items()
        },
    )


def _documents(files: Mapping[str, bytes], problems: list[ConfigProblem]) -> dict[str, Document]:
    documents: dict[str, Document] = {}
    for name, raw in sorted(files.items()):
        try:
            documents[name] = read_document(name, raw)
        except Unreadable as error:
            problems.append(error.problem)
    return documents


def _named(documents: Mapping[str, Document], stem: str) -> Document:
    for name, document in documents.items():
        if name.rpartition(".")[0] == stem:
            return document
    return Document(file=f"{stem}.yaml", value={}, places={}, keys={})


def _recipes(
    documents: Mapping[str, Document], folder: str, problems: list[ConfigProblem], defaults: StepRecipe
) -> dict[str, Built]:
    """The recipes of one layer by request type; within a layer each type is written once."""
    layer: dict[str, Built] = {}
    for name, document in documents.items():
        if not name.startswith(folder):
            continue
        recipe = build_protocol(document, problems, defaults)
        first = layer.get(recipe.request_type)
        if first and recipe.request_type:
            message = f"{recipe.request_type} is already described by {first[0].file}"
            problems.append(document.problem("/request_type", message, "keep one of the two files"))
        layer.setdefault(recipe.request_type, (document, recipe))
    return layer


def _by_name(chosen: Mapping[str, Built], problems: list[ConfigProblem]) -> dict[str, Protocol]:
    names = {request_type: recipe for request_type, (_, recipe) in chosen.items()}
    for document, recipe in chosen.values():
        for at, alias in enumerate(recipe.aliases):
            taken = names.setdefault(alias, recipe)
            if taken is not recipe:
                message = f"{alias} already stands for {taken.request_type}"
                pointer = child("/aliases", at)
                problems.append(document.problem(pointer, message, "choose another alias"))
    return names
