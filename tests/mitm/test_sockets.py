"""The size of a WebSocket message that is not whole yet."""

from __future__ import annotations

from agentfence.mitm.sockets import Unfinished


def test_frames_are_counted_with_what_each_takes_and_anew_for_each_message() -> None:
    unfinished, frames = Unfinished(), [b"ab"]
    assert unfinished.size(frames) == 2

    frames[-1] += b"c"
    assert unfinished.size(frames) == 3
    frames += [b"d", b""]
    assert unfinished.size(frames) == 3 + 64 + 1 + 64
    assert unfinished.size(frames) == 3 + 64 + 1 + 64

    assert unfinished.size([b""]) == 0
