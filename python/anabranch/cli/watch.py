"""What a thread that draws sees of a command that runs in another."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


class Watch:
    """What the core last said, and whether it should stop."""

    def __init__(self) -> None:
        self.latest: Mapping[str, Any] = {}
        self.stop = threading.Event()
        self.signal: int | None = None
        self.signalled_at = 0.0

    @property
    def exit_code(self) -> int | None:
        """128 and the number of the signal that came, as shells have it; None if none came."""
        return None if self.signal is None else 128 + self.signal

    def __call__(self, state: Mapping[str, Any]) -> bool:
        """Take a report from the core; the answer says whether to go on."""
        self.latest = state
        return not self.stop.is_set()
