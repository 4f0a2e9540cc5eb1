"""`scripts/fuzz`: mutated messages for as long as wanted, from a seed that is said."""

from __future__ import annotations

import random
import sys
import time

from fuzz.messages import message
from fuzz.test_readings import TRANSPORTS, check


def mutated(seed: int) -> bytes:
    """A message, changed once more at up to three places."""
    chance = random.Random(seed)
    octets = bytearray(message(seed))
    for _ in range(chance.randrange(4)):
        place = chance.randint(0, len(octets))
        octets[place : place + chance.randrange(2)] = chance.randbytes(chance.randrange(3))
    return bytes(octets)


def main(seconds: float = 60.0, seed: int | None = None) -> int:
    """Fuzz; give the exit status."""
    first = seed = random.randrange(2**32) if seed is None else seed
    end = time.monotonic() + seconds
    print(f"fuzzing for {seconds:g} s from seed {first}", flush=True)
    while time.monotonic() < end:
        octets = mutated(seed)
        try:
            for transport in TRANSPORTS:
                check(octets, transport, "evaluate")
        except Exception as error:
            print(f"seed {seed} fails: {octets!r}", file=sys.stderr)
            raise SystemExit(f"{type(error).__name__}: {error}") from error
        seed += 1
    print(f"{seed - first} messages, each on both transports: none got past")
    return 0


if __name__ == "__main__":
    sys.exit(main(*(float(a) if n == 0 else int(a) for n, a in enumerate(sys.argv[1:3]))))  # type: ignore[arg-type]
