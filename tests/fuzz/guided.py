"""`scripts/fuzz --guided`: atheris looks for bytes that reach new branches of the core, and checks each.

It starts from the texts of `tests/cases/wire/` and the mutations of `fuzz.messages`, and keeps what it
finds between runs in a folder that is not committed. Bytes that break an invariant end it with status
77 and are written to a file; put them into `tests/cases/wire/` once they are understood.
"""

from __future__ import annotations

import hashlib
import random
import sys
from pathlib import Path

import atheris  # type: ignore[import-not-found,unused-ignore]
import yaml

with atheris.instrument_imports(include=["agentfence.core"]):
    from fuzz.messages import MUTATIONS
    from fuzz.test_readings import TRANSPORTS, check

ROOT = Path(__file__).parents[2]
FOUND = ROOT / ".fuzz"
SEEDS = 3
"""Of each mutation."""


def seed_corpus() -> list[bytes]:
    """The bytes to start from."""
    texts = [
        str(case["text"]).encode("utf-8", "surrogatepass")
        for path in sorted((ROOT / "tests" / "cases" / "wire").glob("reader_*.yaml"))
        for case in yaml.safe_load(path.read_text())
        if "text" in case
    ]
    mutated = [mutation(random.Random(seed)) for mutation in MUTATIONS for seed in range(SEEDS)]
    # A long text takes the time of a thousand short ones, and reaches no other branch.
    return [octets for octets in (*texts, *mutated) if len(octets) <= 4_096]


def check_bytes(octets: bytes) -> None:
    """Hold the invariants on both transports, with batches judged and refused."""
    for transport in TRANSPORTS:
        for on_batch in ("reject", "evaluate"):
            check(octets, transport, on_batch)


def main(seconds: int = 60) -> None:
    """Fuzz; libFuzzer ends the process."""
    corpus = FOUND / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for octets in seed_corpus():
        (corpus / hashlib.sha256(octets).hexdigest()).write_bytes(octets)
    options = [f"-max_total_time={seconds}", "-max_len=4096", "-timeout=10", "-print_final_stats=1"]
    atheris.Setup([sys.argv[0], *options, f"-artifact_prefix={FOUND}/", str(corpus)], check_bytes)
    atheris.Fuzz()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
