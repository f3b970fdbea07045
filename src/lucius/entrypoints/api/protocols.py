"""Protocols as they are shown, and the route that lists them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import APIRouter, Response

from lucius.entrypoints.api import admin_shapes as shapes
from lucius.entrypoints.api.asking import Api, Who, reply
from lucius.entrypoints.api.openapi import answers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lucius.core.protocol import Protocol, StepRecipe

router = APIRouter(tags=["protocols"], default_response_class=Response)


@router.get("/v1/protocols", responses=answers({200: shapes.ProtocolList}), operation_id="listProtocols")
async def list_protocols(api: Api, _who: Who) -> Response:
    """What can be asked for: every request type with its steps."""
    return reply(protocol_list(api.admin.protocols()))


def protocol_list(protocols: Sequence[Protocol]) -> shapes.ProtocolList:
    """Recipes for people and programs."""
    return shapes.ProtocolList(protocols=[_shown(recipe) for recipe in protocols])


def _shown(recipe: Protocol) -> shapes.ProtocolView:
    return shapes.ProtocolView(
        protocol_id=recipe.protocol_id,
        version=recipe.version,
        request_type=recipe.request_type,
        aliases=list(recipe.aliases),
        description=recipe.description,
        deadline_ms=recipe.deadline,
        steps=[_step(step) for step in recipe.steps],
    )


def _step(step: StepRecipe) -> shapes.StepRecipeView:
    return shapes.StepRecipeView(
        step_id=step.step_id,
        step_type=step.step_type,
        service=step.service,
        group=step.group,
        ack_timeout_ms=step.ack_timeout,
        lease_ms=step.lease,
        max_dispatch_attempts=step.max_dispatch_attempts,
        max_execution_attempts=step.max_execution_attempts,
        payload_schema=step.payload_schema,
    )
