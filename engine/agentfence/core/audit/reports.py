"""What verifying finds: of each file, and of the files of a log together."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from agentfence.core.values import field, frozen, slotted

if TYPE_CHECKING:
    from agentfence.core.audit.anchors import Anchor


class Status(StrEnum):
    """What a log is; only `ok` is fine."""

    OK = "ok"
    NO_CHAIN = "no_chain"
    """Nothing in it carries a hash, so nothing can be shown."""
    PARTIAL = "partial"
    """The chain starts in the middle of a file: what stands before is not covered."""
    UNSIGNED = "unsigned"
    """A key was given, and lines carry no signature."""
    TRUNCATED = "truncated"
    """Lines are missing before the first, or after the last, that are known to have been there."""
    CORRUPT = "corrupt"
    """A line is no event, or not whole."""
    FAILED = "failed"
    """A line is not the one that was written, or not in its place."""


WORST_FIRST = (
    Status.FAILED,
    Status.CORRUPT,
    Status.TRUNCATED,
    Status.PARTIAL,
    Status.NO_CHAIN,
    Status.UNSIGNED,
    Status.OK,
)


@frozen
class Finding:
    """One thing that is wrong, and where."""

    status: Status
    reason: str
    file: str
    line: int | None = None
    """From 1."""
    offset: int | None = None
    """The byte at which the line begins, from 0."""


@slotted
class FileReport:
    """What was read of one file."""

    name: str
    log: str = ""
    """Which log it is of; files of one log come oldest first."""
    events: int = 0
    unchained: int = 0
    """How many events come before the chain."""
    signed: int = 0
    not_written: int = 0
    """How many events it says itself to lack: they could not be written."""
    first_link: str | None = None
    """The `prev_hash` of the first line: where the file goes on from."""
    last_hash: str | None = None
    last_seq: int = 0
    session_ids: set[str] = field(default_factory=set)
    """At most two: whether it is one run is all that matters."""
    removed: set[str] = field(default_factory=set)
    """Last hashes of segments whose removal is recorded here."""
    lost: dict[str, Finding] = field(default_factory=dict)
    """By the hash of a line that its writer missed: what is to be said of it, unless another file ends so."""
    anchored: dict[str, tuple[int, int]] = field(default_factory=dict)
    """By the hash of an anchor that was met: the position and `seq` of its line."""
    findings: list[Finding] = field(default_factory=list)


@frozen
class LogReport:
    """What was found of everything that was read."""

    files: tuple[FileReport, ...]
    findings: tuple[Finding, ...]

    @property
    def status(self) -> Status:
        """The worst of what was found."""
        found = {finding.status for finding in self.findings}
        return next((status for status in WORST_FIRST if status in found), Status.OK)

    @property
    def events(self) -> int:
        """How many events were read."""
        return sum(file.events for file in self.files)

    @property
    def not_written(self) -> int:
        """How many events could not be written, as gaps in the log say."""
        return sum(file.not_written for file in self.files)


def join_files(files: tuple[FileReport, ...], anchor: Anchor | None = None) -> LogReport:
    """Give what the files are together: whether each goes on from one that is here."""
    findings = [finding for file in files for finding in file.findings]
    if not any(file.events for file in files) and not findings:
        findings.append(Finding(Status.NO_CHAIN, "there is no event in it", files[0].name if files else ""))
    findings += _unlinked(files)
    findings += _lost(files)
    if anchor is not None:
        findings += _unanchored(files, anchor)
    return LogReport(files, tuple(findings))


def _unlinked(files: tuple[FileReport, ...]) -> list[Finding]:
    ends = {file.last_hash for file in files if file.last_hash is not None}
    removed = {hash_ for file in files for hash_ in file.removed}
    findings: list[Finding] = []
    taken: dict[str, str] = {}
    before: dict[str, str] = {}
    for file in files:
        link, previous = file.first_link, before.get(file.log)
        if file.last_hash is not None:
            before[file.log] = file.name
        if link is None:
            if file.last_hash is not None and not file.unchained and previous is not None and file.log:
                reason = f"it does not go on from {previous}: what came between is missing"
                findings.append(Finding(Status.TRUNCATED, reason, file.name, 1, 0))
            continue
        if link in taken:
            reason = f"it goes on from the same line as {taken[link]}: one of the two is not the log's"
            findings.append(Finding(Status.FAILED, reason, file.name, 1, 0))
        elif link not in ends and link not in removed:
            reason = "it goes on from a line that is in none of the files: what came before is missing"
            findings.append(Finding(Status.TRUNCATED, reason, file.name, 1, 0))
        taken[link] = file.name
    return findings


def _lost(files: tuple[FileReport, ...]) -> list[Finding]:
    known = {file.last_hash for file in files} | {file.first_link for file in files}
    return [finding for file in files for hash_, finding in file.lost.items() if hash_ not in known]


def _unanchored(files: tuple[FileReport, ...], anchor: Anchor) -> list[Finding]:
    met = next((file for file in files if anchor.last_hash in file.anchored), None)
    if met is None:
        reason = (
            "the anchored event is not in it: lines at the end were cut off, or the anchor is of another log"
        )
        return [Finding(Status.TRUNCATED, reason, files[-1].name if files else "")]
    position, seq = met.anchored[anchor.last_hash]
    before = _events_before(met, files)
    if seq != anchor.last_seq or (before is not None and before + position != anchor.event_count):
        reason = f"the anchor says event {anchor.event_count} with seq {anchor.last_seq}, and it is another"
        return [Finding(Status.FAILED, reason, met.name, position)]
    return []


def _events_before(file: FileReport, files: tuple[FileReport, ...]) -> int | None:
    """Give how many events the segments before `file` hold; None when not all are here."""
    by_end = {other.last_hash: other for other in files if other.last_hash is not None}
    events, seen = 0, {file.name}
    while file.first_link is not None:
        previous = by_end.get(file.first_link)
        if previous is None or previous.name in seen:
            return None
        seen.add(previous.name)
        events += previous.events
        file = previous
    return events


def chain_of(files: tuple[FileReport, ...]) -> tuple[FileReport, int | None]:
    """Give the last file of the one chain in `files`, and the number of events up to its end.

    Raises:
        ValueError: They hold none, or several.

    """
    links = {file.first_link for file in files}
    ends = [file for file in files if file.last_hash is not None and file.last_hash not in links]
    if len(ends) != 1:
        raise ValueError(f"expected one chain, got {len(ends)}: name one log")
    before = _events_before(ends[0], files)
    return ends[0], None if before is None else before + ends[0].events
