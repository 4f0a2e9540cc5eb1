"""Verifies the lines of one file, as they are read.

Of a line nothing but its bytes counts: the hash covers them as they stand, so an unknown field, a
blank, a second key of one name or another spelling of a number show. That holds for logs of the Go
AgentFence too (schema 1 to 5): it wrote the very bytes that it hashed, the closing brace included.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode
from hashlib import sha256
from typing import TYPE_CHECKING

import jiter

from agentfence.core.audit.reports import FileReport, Finding, Status
from agentfence.core.record import SCHEMA_VERSION, read_seal

if TYPE_CHECKING:
    from collections.abc import Callable, Container
    from typing import Any

    from agentfence.core.record import Seal

    type CheckSignature = Callable[[bytes, bytes], bool]
    """Whether the second is a signature of the first, a digest."""

_SCHEMA = re.compile(rb'\{"schema_version":"([0-9]{1,4})"[,}]')
_GO_SCHEMAS = frozenset({b"1", b"2", b"3", b"4", b"5"})
_MOST_LOST = 1_000
_MOST_RUNS = 10_000
"""That are remembered; the one that wrote longest ago is forgotten first."""
_LOST = "the log says itself that lines before this one were lost under its writer"
_OURS = SCHEMA_VERSION.encode()


class FileVerification:
    """Verifies one file; feed it every line, then `end` it."""

    def __init__(
        self, name: str, check_signature: CheckSignature | None = None, wanted: Container[str] = ()
    ) -> None:
        """Take the file's name, the key's check where signatures count, and hashes to look out for."""
        self.report = FileReport(name)
        self.is_over = False
        """A line is wrong: what follows says nothing any more."""
        self._check_signature = check_signature
        self._wanted = wanted
        self._unsigned: Finding | None = None
        self._number = self._offset = 0
        self._runs: dict[str, int] = {}
        self._are_all_known = False
        """Whether each run that was not met yet has written nothing before."""

    def feed(self, line: bytes | None) -> None:
        """Take one line with its end; None stands for one that is too long."""
        if self.is_over:
            return
        self._number += 1
        if line is None:
            self._fail(Status.CORRUPT, "the line is too long to be an event")
        elif not line.endswith(b"\n"):
            self._fail(
                Status.CORRUPT, "the last line is not whole, as a killed writer or a full disk leaves it"
            )
        else:
            self._take(line[:-1])
            self._offset += len(line)

    def end(self) -> FileReport:
        """Give the report."""
        report = self.report
        if not self.is_over and report.events:
            if report.last_hash is None:
                self._note(Status.NO_CHAIN, "no event carries a hash: nothing shows that it is as written")
            elif report.unchained:
                reason = f"the chain starts at event {report.unchained + 1}: nothing covers those before"
                self._note(Status.PARTIAL, reason)
            if self._unsigned is not None:
                report.findings.append(self._unsigned)
        return report

    def _take(self, line: bytes) -> None:
        event = read_event(line)
        schema = _SCHEMA.match(line)
        if event is None or schema is None:
            blank = not line.strip()
            status = Status.FAILED if blank and self.report.last_hash else Status.CORRUPT
            self._fail(status, "the line is blank" if blank else "the line is no audit event")
            return
        if schema[1] != _OURS and schema[1] not in _GO_SCHEMAS:
            self._fail(Status.CORRUPT, f"schema version `{schema[1].decode()}` is not known")
            return
        seal = read_seal(line)
        if seal is None:
            self._take_unchained(event)
        else:
            self._take_chained(event, seal, is_ours=schema[1] == _OURS)

    def _take_unchained(self, event: dict[str, Any]) -> None:
        if "hash" in event or "prev_hash" in event:
            self._fail(Status.FAILED, "the line does not end with its hash: bytes were added or changed")
        elif self.report.last_hash is not None:
            self._fail(Status.FAILED, "the line has no hash, and the lines before it have")
        else:
            self.report.unchained += 1
            self._count(event)
            if self._check_signature is not None:
                self._miss_signature()

    def _take_chained(self, event: dict[str, Any], seal: Seal, *, is_ours: bool) -> None:
        digest = sha256(seal.covered if is_ours else seal.covered + b"}")
        report = self.report
        if digest.hexdigest() != seal.hash:
            self._fail(Status.FAILED, "the line is not the one that its hash was made from")
            return
        if report.last_hash is None:
            report.first_link = None if report.unchained else seal.prev_hash
            self._are_all_known = not report.unchained and seal.prev_hash is None
        elif seal.prev_hash != report.last_hash:
            self._fail(
                Status.FAILED, "it does not follow the line before: lines were added, removed or moved"
            )
            return
        if self._check_signature is not None and not self._is_signed(seal, digest.digest()):
            return
        if is_ours and not self._is_in_turn(event):
            self._fail(Status.FAILED, "events of its run before it are missing: lines were removed")
            return
        report.signed += seal.signature is not None
        report.last_hash = seal.hash
        self._count(event)
        if seal.hash in self._wanted:
            report.anchored[seal.hash] = report.events, report.last_seq
        match event.get("kind"):
            case "audit_gap" if isinstance(lost := event.get("lost"), int):
                report.not_written += lost
            case "segments_removed":
                report.removed.add(str(event.get("last_hash")))
            case "log_replaced" if event.get("lost_hash") is not None and len(report.lost) < _MOST_LOST:
                place = Finding(Status.TRUNCATED, _LOST, report.name, self._number, self._offset)
                report.lost[str(event["lost_hash"])] = place

    def _is_in_turn(self, event: dict[str, Any]) -> bool:
        """Whether no event of the same run is left out before this one."""
        run, seq, kind = event.get("session_id"), event.get("seq"), event.get("kind")
        if not isinstance(run, str) or not isinstance(seq, int):
            return True
        last = self._runs.pop(run, None)
        if last is None and self._are_all_known:
            last = 0
        self._runs[run] = seq
        if len(self._runs) > _MOST_RUNS:
            del self._runs[next(iter(self._runs))]
            self._are_all_known = False
        # a run that lost its file says so in a finding of its own
        return last is None or seq <= last + 1 or kind == "log_replaced"

    def _is_signed(self, seal: Seal, digest: bytes) -> bool:
        """Whether the line is signed by the key, or at least not by another."""
        if seal.signature is None:
            self._miss_signature()
        elif self._check_signature is not None and not self._check_signature(
            digest, b64decode(seal.signature)
        ):
            self._fail(Status.FAILED, "the signature is not by this key")
            return False
        return True

    def _miss_signature(self) -> None:
        if self._unsigned is None:
            reason = "the line has no signature"
            self._unsigned = Finding(Status.UNSIGNED, reason, self.report.name, self._number, self._offset)

    def _count(self, event: dict[str, Any]) -> None:
        report = self.report
        report.events += 1
        seq = event.get("seq")
        report.last_seq = seq if isinstance(seq, int) else 0
        if len(report.session_ids) < 2:
            report.session_ids.add(str(event.get("session_id")))

    def _fail(self, status: Status, reason: str) -> None:
        self.is_over = True
        self.report.findings.append(Finding(status, reason, self.report.name, self._number, self._offset))

    def _note(self, status: Status, reason: str) -> None:
        self.report.findings.append(Finding(status, reason, self.report.name))


def read_event(line: bytes) -> dict[str, Any] | None:
    """Give the JSON object in a line; None where it is none."""
    try:
        event = jiter.from_json(line, cache_mode="keys")
    except ValueError:
        try:  # jiter reads no lone surrogates, which are honest where the writer had them
            event = json.loads(line)
        except (ValueError, RecursionError):
            return None
    return event if isinstance(event, dict) else None
