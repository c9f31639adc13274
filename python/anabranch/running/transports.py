"""Which transports the simulator has: asked of the compiled core."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from anabranch.base import core


@dataclass(frozen=True, slots=True)
class Preset:
    """Parameters as in a paper or in its authors' program.

    Attributes
    ----------
    name
        As in scenarios: ``transport.preset``.
    summary
        What it is.
    source
        Where its numbers come from.
    rate
        The rate of hosts' links that they are made for, with its unit: ``100Gbps``; None if they depend on none.
    keys
        What it gives, as in a scenario, where the scenario itself does not.
    """

    name: str
    summary: str
    source: str
    rate: str | None
    keys: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Transport:
    """A transport of the simulator.

    Attributes
    ----------
    name
        As in scenarios: ``transport.name``.
    summary
        What it is, with its paper.
    driven_by
        What decides when packets leave: the sender's window, the receiver's pulls.
    groups
        Whether it has one-to-many and many-to-one sessions of its own; others fall back to unicast.
    lossless
        Whether it is made for switches that pause who sends to them (``switch.pfc``), so that none loses a packet.
    telemetry
        Whether switches write the state of their ports into its packets (in-band telemetry).
    queue, queue_summary
        What switches do for it if ``switch.queue`` is ``auto``.
    routing, routing_summary
        How its packets choose among paths if ``routing.mode`` is ``auto``.
    presets
        Parameters of papers and their authors' programs.
    page
        What of it is implemented, and what differs: a file of the repository.
    """

    name: str
    summary: str
    driven_by: str
    groups: bool
    lossless: bool
    telemetry: bool
    queue: str
    queue_summary: str
    routing: str
    routing_summary: str
    presets: tuple[Preset, ...]
    page: str


def transports() -> tuple[Transport, ...]:
    """List the transports, in the order of the reference of scenarios.

    Raises
    ------
    CoreMissingError
        If the extension is not installed.

    Examples
    --------
    >>> [one.driven_by for one in transports() if one.name == "ndp"]
    ["the receiver's pulls"]
    """
    return tuple(_transport(one) for one in json.loads(core.call("transports")))


def _transport(one: dict[str, Any]) -> Transport:
    named = {key: one[key] for key in ("transport", "queue", "routing")}
    return Transport(
        name=named["transport"]["name"],
        summary=named["transport"]["summary"],
        driven_by=one["driven_by"],
        groups=one["groups"],
        lossless=one["lossless"],
        telemetry=one["telemetry"],
        queue=named["queue"]["name"],
        queue_summary=named["queue"]["summary"],
        routing=named["routing"]["name"],
        routing_summary=named["routing"]["summary"],
        presets=tuple(_preset(preset) for preset in one["presets"]),
        page=f"docs/fidelity/{one['page']}",
    )


def _preset(one: dict[str, Any]) -> Preset:
    return Preset(one["name"], one["summary"], one["source"], one["rate"], one["keys"])
