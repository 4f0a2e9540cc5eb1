"""Bytes on their way to a descriptor that does not always take them."""

from __future__ import annotations

import os

from agentfence.outlet import Outlet


def test_lines_are_written_whole_and_in_order() -> None:
    read, write = os.pipe()
    outlet = Outlet(write)
    outlet.put(b"one")
    outlet.put(b"two")
    outlet.flush()

    assert (os.read(read, 100), outlet.size) == (b"one\ntwo\n", 0)


def test_what_a_full_pipe_does_not_take_waits() -> None:
    read, write = os.pipe()
    os.set_blocking(write, False)
    outlet = Outlet(write)
    outlet.put(b"x" * 1_000_000)
    outlet.put(b"end")
    outlet.flush()
    assert 0 < outlet.size < 1_000_005
    received = b""
    while not received.endswith(b"end\n"):
        received += os.read(read, 65536)
        outlet.flush()

    assert received == b"x" * 1_000_000 + b"\nend\n"
    assert outlet.size == 0


def test_a_reader_that_is_gone_ends_it() -> None:
    read, write = os.pipe()
    os.close(read)
    outlet = Outlet(write)
    outlet.put(b"x")
    outlet.flush()
    outlet.put(b"y")

    assert (outlet.is_open, outlet.size) == (False, 0)
