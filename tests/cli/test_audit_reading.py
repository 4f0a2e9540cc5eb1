"""`agentfence audit query`, `summarize` and `tail` as they are run."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from audit_logs import open_log

from agentfence.audit.file_log import Upkeep
from agentfence.audit.reading import Tail
from agentfence.audit.verifying import open_regular
from agentfence.cli.audit_tables import print_event
from agentfence.cli.main import main

EVENTS: list[dict[str, Any]] = [
    {"kind": "run_started", "timestamp": "2027-01-30T00:00:00.000000Z"},
    {"timestamp": "2027-01-31T00:00:00.000000Z", "tool": "read_file", "decision": "allow", "server": "files"},
    {
        "timestamp": "2027-01-31T12:00:00.000000Z",
        "tool": "read_all",
        "decision": "deny",
        "reason": "no [red]",
    },
    {
        "timestamp": "2027-02-01T00:00:00.000000Z",
        "tool": "send",
        "decision": "deny",
        "reason_code": "forbidden",
    },
    {"kind": "answered", "timestamp": "2027-02-01T00:00:01.000000Z", "status": "result"},
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "audit.jsonl"
    for number, event in enumerate(EVENTS):
        open_log(file, f"run-{number}").append({"kind": "judged", **event, "n": number})
    return file


def audit(capfd: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, list[str], str]:
    status = main(["audit", *map(str, arguments)])
    sys.stdout.flush()
    out, err = capfd.readouterr()
    return status, out.splitlines(), err


@pytest.mark.parametrize(
    ("filters", "numbers"),
    [
        ((), [0, 1, 2, 3, 4]),
        (("--since", "2027-01-31"), [1, 2, 3, 4]),
        (("--until", "2027-01-31T12:00:00Z"), [0, 1]),
        (("--since", "2027-01-31T01:00:00+01:00", "--until", "2027-02-01"), [1, 2]),
        (("--tool", "read_*"), [1, 2]),
        (("--tool", "READ_*"), []),
        (("--server", "files"), [1]),
        (("--decision", "deny"), [2, 3]),
        (("--decision", "deny", "--tool", "send"), [3]),
        (("--reason-code", "forbidden"), [3]),
        (("--kind", "answered"), [4]),
        (("--session", "run-3"), [3]),
        (("--session", "run"), [0, 1, 2, 3, 4]),
    ],
)
def test_query_prints_the_lines_that_pass(
    path: Path, capfd: pytest.CaptureFixture[str], filters: tuple[str, ...], numbers: list[int]
) -> None:
    lines = path.read_text().splitlines()

    assert audit(capfd, "query", "--log", path, *filters) == (0, [lines[number] for number in numbers], "")


@pytest.mark.parametrize(
    "arguments",
    [
        ("query", "--since", "soon"),
        ("summarize", "--until", "2027-13-01"),
        ("summarize", "--top", "0"),
        ("summarize", "--top", "many"),
        ("tail", "-n", "-1"),
        ("query", "--decision", "denied"),
        ("query", "--kind", "judgde"),
    ],
)
def test_wrong_use_is_2(path: Path, capfd: pytest.CaptureFixture[str], arguments: tuple[str, ...]) -> None:
    try:
        status, out, err = audit(capfd, *arguments, "--log", path)
    except SystemExit as exit_:
        status, out, err = exit_.code, [], capfd.readouterr().err  # type: ignore[assignment]

    assert (status, out) == (2, [])
    assert arguments[2] in err


@pytest.mark.parametrize("verb", ["query", "summarize", "tail"])
def test_log_that_is_not_there_is_4(verb: str, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert audit(capfd, verb, "--log", tmp_path / "missing")[0] == 4


def test_summary_counts(path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with path.open("ab") as file:
        file.write(b"nonsense\n{torn")
    status, (line,), _ = audit(capfd, "summarize", "--log", path, "--top", 1)
    counts = json.loads(line)

    assert status == 0
    assert (counts["events"], counts["malformed"]) == (5, 2)
    assert counts["by_decision"] == {"deny": 2, "allow": 1}
    assert counts["by_kind"] == {"judged": 3, "run_started": 1, "answered": 1}
    assert counts["top_denied_tools"] == {"read_all": 1}
    assert counts["top_allowed_tools"] == {"read_file": 1}
    assert (counts["first"][:10], counts["last"][:10]) == ("2027-01-30", "2027-02-01")


@pytest.mark.parametrize("verb", ["query", "summarize", "tail"])
def test_table_shows_names_and_acts_on_none(path: Path, capfd: pytest.CaptureFixture[str], verb: str) -> None:
    open_log(path, "evil").append(
        {"kind": "judged", "timestamp": "now", "tool": "\x1b[2Jx", "decision": "deny", "reason": "r", "n": 5}
    )
    status, out, _ = audit(capfd, verb, "--log", path, "--output", "table")
    text = "\n".join(out)

    assert status == 0
    assert "read_all" in text
    assert "\x1b[2J" not in text
    if verb != "summarize":
        assert "no [red]" in " ".join(text.split())


def test_query_reads_segments_in_their_order(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    log = open_log(tmp_path / "audit.jsonl", upkeep=Upkeep(max_size=500))
    for number in range(9):
        log.append({"kind": "judged", "timestamp": "now", "n": number})
    _, lines, _ = audit(capfd, "query", "--log", tmp_path / "audit.jsonl", "--kind", "judged")

    assert [json.loads(line)["n"] for line in lines] == list(range(9))


def test_memory_is_bounded(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "audit.jsonl"
    line = (
        b'{"schema_version":"6","kind":"judged","decision":"deny","tool":"%d","reason":"'
        + b"x" * 400
        + b'%d"}\n'
    )
    with path.open("wb") as file:
        for number in range(40_000):
            file.write(line % (number, number))
    tracemalloc.start()
    audit(capfd, "summarize", "--log", path)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert path.stat().st_size > 18_000_000
    assert most < 14_000_000


def test_tail_prints_the_last(path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    lines = path.read_text().splitlines()

    assert audit(capfd, "tail", "--log", path, "-n", 2)[1] == lines[-2:]
    assert audit(capfd, "tail", "--log", path, "-n", 1, "--decision", "deny")[1] == [lines[3]]


def test_tail_of_a_folder_is_of_the_newest_log(path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    newer = path.with_name("b.jsonl")
    open_log(newer).append({"kind": "judged", "n": 1})

    assert audit(capfd, "tail", "--log", path.parent)[1] == newer.read_text().splitlines()


def test_tail_goes_on_over_a_rotation(path: Path) -> None:
    command = [sys.executable, "-m", "agentfence", "audit", "tail", "-f", "-n", "1", "--log", str(path)]
    command += ["--kind", "judged"]
    engine = Path(__file__).parents[2] / "engine"
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=engine) as tail:
        assert tail.stdout is not None
        try:
            assert tail.stdout.readline()  # it has begun
            log = open_log(path, "next", Upkeep(max_size=2_000))
            for number in range(20):
                log.append({"kind": "judged", "timestamp": "now", "n": number, "text": "x" * 100})
            seen = [json.loads(tail.stdout.readline())["n"] for _ in range(20)]
        finally:
            tail.kill()

    assert seen == list(range(20))


def test_tail_reads_back_over_blocks_and_closed_files(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentfence.audit.reading._BLOCK", 70)
    log = open_log(tmp_path / "audit.jsonl", upkeep=Upkeep(max_size=1_500))
    for number in range(30):
        log.append({"kind": "judged", "timestamp": "now", "n": number, "text": "x" * (number * 7)})
    with (tmp_path / "audit.jsonl").open("ab") as file:
        file.write(b"nonsense\n\n{torn")

    for count in (0, 1, 7, 29, 30, 99):
        _, lines, _ = audit(capfd, "tail", tmp_path / "audit.jsonl", "--kind", "judged", "-n", count)
        assert [json.loads(line)["n"] for line in lines] == list(range(30))[max(0, 30 - count) :]
    assert audit(capfd, "tail", tmp_path / "audit.jsonl", "--tool", "none")[1] == []


def test_tail_of_a_large_log_reads_its_end_alone(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "audit.jsonl"
    with path.open("wb") as file:
        file.truncate(1 << 40)  # a hole, which takes no room
        file.seek(0, 2)
        file.write(b'\n{"schema_version":"6","kind":"judged","n":1}\n')

    assert [json.loads(line)["n"] for line in audit(capfd, "tail", path, "-n", 1)[1]] == [1]
    path.unlink()


def test_tail_leaves_out_no_file_where_rotation_is_faster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "audit.jsonl"
    log, numbers = open_log(path, upkeep=Upkeep(max_size=900)), iter(range(100))

    def write(count: int) -> None:
        for number in itertools.islice(numbers, count):
            log.append({"kind": "judged", "timestamp": "now", "n": number, "text": "x" * 100})

    def open_late(file: Path) -> object:
        write(next(writes, 0))
        return open_regular(file)

    writes = iter([5, 5, 0, 7])
    write(1)
    tail = Tail(path)
    monkeypatch.setattr("agentfence.audit.reading.open_regular", open_late)
    write(5)
    found = itertools.islice((event["n"] for _, event in tail.follow() if event and "n" in event), 23)

    assert list(found) == list(range(23))


def test_tail_of_what_is_no_file_is_4(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "pipe")
    status, _, err = audit(capfd, "tail", tmp_path / "pipe")

    assert status == 4
    assert "no regular file" in err


def test_tail_waits_for_lines_that_are_being_written_and_sees_a_file_that_was_cut(path: Path) -> None:
    line = path.read_bytes().splitlines(keepends=True)[0]
    tail = Tail(path)
    with path.open("ab") as file:
        file.write(line[:20])
    assert len(tail.last(9, lambda _: True)) == 5
    assert [*tail._lines()] == []
    with path.open("ab") as file:
        file.write(line[20:])
    assert [found for found, _ in tail._lines()] == [line]
    path.write_bytes(line)
    assert [found for found, _ in tail._lines()] == [line]


def test_event_that_comes_is_a_line_on_a_terminal_and_acts_on_nothing(
    capfd: pytest.CaptureFixture[str],
) -> None:
    event = {"timestamp": "now", "kind": "judged", "decision": "deny", "tool": "\x1b[2Jx", "reason": "a\nb"}
    print_event(b"", event, "table")
    (line,) = capfd.readouterr().out.splitlines()

    assert line.split() == ["now", "judged", "deny", "\\u{1b}[2Jx", "a\\u{a}b"]


def test_names_that_are_no_unicode_are_counted(path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    open_log(path, "odd").append(
        {"kind": "judged", "timestamp": "now", "decision": "deny", "tool": "\ud800", "n": 6}
    )
    status, (line,), _ = audit(capfd, "summarize", path)

    assert status == 0
    assert json.loads(line)["top_denied_tools"]["\ud800"] == 1


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        (("--decision", "denny"), "there is no `denny`; did you mean `deny`?"),
        (("--kind", "judgd"), "there is no `judgd`; did you mean `judged`?"),
    ],
)
def test_misspelt_filter_is_a_mistake_and_not_an_empty_answer(
    filters: tuple[str, ...], message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        audit(capfd, "query", *filters)

    assert ended.value.code == 2
    assert message in capfd.readouterr().err


@pytest.mark.parametrize("line", ['{"tool": "read_file", "decision": "allow"}', "{}", "[1]", "no JSON"])
@pytest.mark.parametrize("verb", ["query", "summarize", "tail"])
def test_line_that_is_no_event_is_not_read_as_one(
    verb: str, line: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "calls.jsonl").write_text(line + "\n")

    status, out, _ = audit(capfd, verb, tmp_path / "calls.jsonl", "--output", "json")

    assert status == 0
    assert [json.loads(text)["events"] for text in out] == ([0] if verb == "summarize" else [])
