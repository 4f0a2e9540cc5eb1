"""`agentfence audit` as it is run: what it prints, and its exit status."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from audit_logs import event, open_log

from agentfence.audit.file_log import Upkeep
from agentfence.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "audit.jsonl"
    log = open_log(file)
    for number in range(5):
        log.append(event(number))
    return file


def audit(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    try:
        status = main(["audit", *map(str, arguments)])
    except SystemExit as exit_:
        status = int(exit_.code or 0)
    return (status, *capsys.readouterr())


def test_fine_log_is_0(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = audit(capsys, "verify", "--log", path)

    assert status == 0
    assert out.startswith("OK: 5 events in 1 file are as they were written")


def test_json_has_status_files_and_findings(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path.write_bytes(path.read_bytes().replace(b'"n":2', b'"n":7'))
    status, out, _ = audit(capsys, "verify", "--log", path, "--output", "json")
    report: dict[str, Any] = json.loads(out)

    assert (status, report["status"], report["events"]) == (4, "failed", 2)
    assert report["findings"][0]["line"] == 3
    assert path.read_bytes()[report["findings"][0]["offset"] :].startswith(b'{"schema_version":"6"')


def corrupt(path: Path) -> None:
    path.write_bytes(b"nonsense\n" + path.read_bytes())


def without_chain(path: Path) -> None:
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    for entry in lines:
        entry.pop("hash")
        entry.pop("prev_hash", None)
    path.write_text("".join(json.dumps(entry, separators=(",", ":")) + "\n" for entry in lines))


def partial(path: Path) -> None:
    without_chain(path)
    open_log(path, "next").append(event(6))


@pytest.mark.parametrize(
    ("spoil", "word"),
    [
        (corrupt, "CORRUPT"),
        (without_chain, "NO_CHAIN"),
        (partial, "PARTIAL"),
        (lambda path: path.write_bytes(b""), "NO_CHAIN"),
        (lambda path: path.write_bytes(path.read_bytes()[:-10]), "CORRUPT"),
        (lambda path: path.write_bytes(path.read_bytes().split(b"\n", 1)[1]), "TRUNCATED"),
        (lambda path: path.write_bytes(path.read_bytes().replace(b"xxx", b"yyy")), "FAILED"),
    ],
)
def test_log_that_is_not_shown_to_be_as_written_is_4(
    path: Path, capsys: pytest.CaptureFixture[str], spoil: Any, word: str
) -> None:
    spoil(path)
    status, out, _ = audit(capsys, "verify", "--log", path)

    assert status == 4
    assert out.startswith(f"{word}: ")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["verify", "--log", "missing"], 4),
        (["verify", "--anchor-pubkey", "x"], 2),
        (["verify", "--anchor", "missing"], 4),
        (["verify", "--pubkey", "missing"], 4),
        (["verify", "--output", "xml"], 2),
        (["anchor", "--log", "missing"], 4),
        (["keygen"], 2),
        ([], 2),
        (["forget"], 2),
        (["verify", "missing"], 4),
        (["verify", ""], 2),
        (["verify", "--log", ""], 2),
        (["verify", "one", "two"], 2),
        (["verify", "one", "--log", "two"], 2),
    ],
)
def test_wrong_use_is_2_and_what_cannot_be_verified_is_4(
    capsys: pytest.CaptureFixture[str], arguments: list[str], expected: int
) -> None:
    status, out, err = audit(capsys, *arguments)

    assert (status, out) == (expected, "")
    assert err


def test_anchor_finds_a_cut_tail(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    anchor, whole = tmp_path / "anchor.json", path.read_bytes()
    keys = tmp_path / "key", tmp_path / "key.pub"
    assert audit(capsys, "keygen", "--private", keys[0], "--public", keys[1])[0] == 0
    assert audit(capsys, "anchor", "--log", path, "--out", anchor, "--sign-key", keys[0])[0] == 0
    arguments = ("verify", "--log", path, "--anchor", anchor, "--anchor-pubkey", keys[1])
    open_log(path, "next").append(event(6))
    grown = audit(capsys, *arguments)
    path.write_bytes(whole[: whole.rindex(b"\n", 0, -1) + 1])

    assert grown[0] == 0
    assert audit(capsys, "verify", "--log", path)[0] == 0
    status, out, _ = audit(capsys, *arguments)
    assert (status, out.split(":")[0]) == (4, "TRUNCATED")
    anchor.write_text(anchor.read_text().replace('"last_seq":5', '"last_seq":4'))
    assert audit(capsys, *arguments)[0] == 4


def test_unsigned_anchor_is_not_fine_where_a_key_is_named(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keys = tmp_path / "key", tmp_path / "key.pub"
    audit(capsys, "keygen", "--private", keys[0], "--public", keys[1])
    audit(capsys, "anchor", "--log", path, "--out", tmp_path / "anchor")

    status, _, err = audit(
        capsys, "verify", "--log", path, "--anchor", tmp_path / "anchor", "--anchor-pubkey", keys[1]
    )
    assert status == 4
    assert "not signed" in err


def test_anchor_over_segments_survives_rotation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, anchor = tmp_path / "audit.jsonl", tmp_path / "anchor"
    log = open_log(path, upkeep=Upkeep(max_size=600))
    for number in range(10):
        log.append(event(number))
    audit(capsys, "anchor", "--log", path, "--out", anchor)
    for number in range(10, 20):
        log.append(event(number))

    assert audit(capsys, "verify", "--log", path, "--anchor", anchor)[0] == 0
    assert audit(capsys, "verify", "--log", tmp_path, "--anchor", anchor)[0] == 0


@pytest.mark.parametrize("spoil", [without_chain, partial, corrupt, lambda path: path.write_bytes(b"")])
def test_log_that_is_not_fine_cannot_be_anchored(
    path: Path, capsys: pytest.CaptureFixture[str], spoil: Any
) -> None:
    spoil(path)
    status, out, err = audit(capsys, "anchor", "--log", path)

    assert (status, out) == (4, "")
    assert "cannot be anchored" in err


def test_unsigned_log_is_not_fine_where_a_key_is_named(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    audit(capsys, "keygen", "--private", tmp_path / "key", "--public", tmp_path / "key.pub")
    status, out, _ = audit(capsys, "verify", "--log", path, "--pubkey", tmp_path / "key.pub")

    assert status == 4
    assert out.startswith("UNSIGNED: ")


@pytest.mark.parametrize("verb", ["verify", "anchor", "query", "summarize", "tail"])
def test_log_may_be_an_operand(path: Path, capsys: pytest.CaptureFixture[str], verb: str) -> None:
    assert audit(capsys, verb, path)[0] == audit(capsys, verb, "--log", path)[0] == 0


def test_anchor_of_a_log_whose_end_was_cut_off_is_not_written_over(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As a job does that anchors a log every night."""
    anchor = tmp_path / "anchor.json"
    assert audit(capsys, "anchor", path, "--out", anchor)[0] == 0
    open_log(path, "next").append(event(5))
    assert audit(capsys, "anchor", path, "--out", anchor)[0] == 0
    kept = anchor.read_bytes()
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:3]))
    status, _, err = audit(capsys, "anchor", path, "--out", anchor)

    assert (status, anchor.read_bytes()) == (4, kept)
    assert "cannot be anchored: the anchored event is not in it" in err
    assert sorted(file.name for file in tmp_path.iterdir()) == ["anchor.json", "audit.jsonl"]


def test_anchor_is_written_over_nothing_else(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = path.read_bytes()
    status, _, err = audit(capsys, "anchor", path, "--out", path)

    assert (status, path.read_bytes()) == (2, kept)
    assert "is not written over" in err
    assert audit(capsys, "anchor", path, "--out", "/dev/null")[0] == 0


def test_events_that_could_not_be_written_are_told_of(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    open_log(path, "next").append({"kind": "audit_gap", "lost": 3, "n": 5})
    status, out, _ = audit(capsys, "verify", path)

    assert status == 0
    assert "it says itself that 3 could not be written" in out
    assert json.loads(audit(capsys, "verify", path, "--output", "json")[1])["not_written"] == 3


def test_names_of_files_are_shown_whatever_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a\x1b[2J\udcff.jsonl"
    open_log(path).append(event(1))
    assert json.loads(audit(capsys, "verify", path, "--output", "json")[1])["files"][0]["file"] == str(path)
    path.write_bytes(b"torn")
    _, out, err = audit(capsys, "verify", path)
    assert "\x1b" not in out + err
    assert "\x1b" not in audit(capsys, "anchor", path)[2]
    assert "\x1b" not in audit(capsys, "verify", tmp_path / "\x1b[2J")[2]
