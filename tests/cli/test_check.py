"""`agentfence check`: recorded calls in, outcomes out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from cli.commanding import run, run_with_stdin
from event_schema import validate_event

from agentfence.cli import check_run, lines
from agentfence.cli.main import main
from agentfence.core.engine import Engine

POLICY = """
version: "1"
defaults: {decision: deny, methods: deny}
servers: {files: {command: [files]}}
tools:
  read: {decision: allow, constraints: {paths: {fields: [path], deny: ["**/.env"]}}}
  files/only: allow
  send: ask
  limited: {decision: allow, constraints: {rate: {limit: 2, per: minute}}}
  old: {decision: allow, expires: 2027-01-01}
methods: {sampling/createMessage: ask}
resources: {"https://a.example/**": allow}
prompts: {"greet*": allow}
audit: {include_redacted_arguments: true}
"""
CALLS = [
    {"id": "1", "tool": "read", "arguments": {"path": "a.md"}},
    {"id": "2", "tool": "read", "arguments": {"path": "x/.env"}},
    {"id": "3", "tool": "send", "arguments": {"to": "me"}},
    {"id": "4", "tool": "other"},
]


@pytest.fixture(autouse=True)
def policy(folder):
    (folder / "p.yaml").write_text(POLICY)


def record(*calls: object) -> str:
    """A file of records; texts are lines as they are."""
    text = [call if isinstance(call, str) else json.dumps(call) for call in calls]
    Path("calls.jsonl").write_text("".join(f"{line}\n" for line in text))
    return "calls.jsonl"


def check(*options: str, calls: tuple[object, ...] = tuple(CALLS)):
    return run("check", "--policy", "p.yaml", "--call", record(*calls), *options)


def rows(*options: str, calls: tuple[object, ...] = tuple(CALLS)) -> list[dict[str, str]]:
    ended = check("--output", "jsonl", *options, calls=calls)
    return [json.loads(line) for line in ended.out.splitlines()]


def decisions(*calls: object, options: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    return [(row["decision"], row["reason_code"]) for row in rows(*options, calls=calls)]


class TestOutcomes:
    def test_each_record_is_one_object_a_line_in_order(self):
        got = rows()

        assert [list(row) for row in got] == [["id", "tool", "decision", "reason_code", "reason"]] * 4
        assert [(row["id"], row["tool"], row["decision"], row["reason_code"]) for row in got] == [
            ("1", "read", "allow", "rule_match"),
            ("2", "read", "deny", "path_denied"),
            ("3", "send", "deny", "non_interactive_denied"),
            ("4", "other", "deny", "default_decision"),
        ]

    def test_array_holds_the_same_and_is_empty_for_no_records(self):
        assert json.loads(check("--output", "json").out) == rows()
        assert json.loads(check("--output", "json", calls=()).out) == []

    def test_text_is_a_sentence_each(self):
        first, second, *_ = check().out.splitlines()

        assert first == "1 read -> allow (tool `read` has its own rule: allow)"
        assert second == "2 read -> deny (argument `path` is denied by pattern `**/.env`)"

    def test_counts_are_said_on_stderr(self):
        assert check().err == "agentfence: 4 records, 0 of them unreadable: allow=1 deny=3 ask=0\n"

    def test_server_decides_which_rules_apply(self):
        assert decisions({"id": "1", "tool": "only", "server": "files"}, {"id": "2", "tool": "only"}) == [
            ("allow", "rule_match"),
            ("deny", "default_decision"),
        ]

    def test_other_messages_are_judged_by_method_resource_and_prompt(self):
        assert decisions(
            {"id": "1", "method": "sampling/createMessage"},
            {"id": "2", "method": "vendor/x"},
            {"id": "3", "uri": "https://a.example/x"},
            {"id": "4", "uri": "https://b.example/x"},
            {"id": "5", "prompt": "greet_me"},
            {"id": "6", "method": "completion/complete", "prompt": "greet_me"},
            {"id": "7", "prompt": "other"},
            options=("--dry-run",),
        ) == [
            ("ask", "rule_match"),
            ("deny", "method_denied"),
            ("allow", "rule_match"),
            ("deny", "resource_denied"),
            ("allow", "rule_match"),
            ("allow", "rule_match"),
            ("deny", "prompt_denied"),
        ]

    def test_time_of_a_record_counts_for_rates_and_expiry(self):
        assert decisions(
            *({"id": "1", "tool": "limited", "time": f"2026-05-01T10:00:{s:02}Z"} for s in (0, 1, 2)),
            {"id": "2", "tool": "limited", "time": "2026-05-01T10:01:01Z"},
            {"id": "3", "tool": "old", "time": 1_700_000_000},
            {"id": "4", "tool": "old", "time": "2027-01-02"},
        ) == [
            ("allow", "rule_match"),
            ("allow", "rule_match"),
            ("deny", "rate_exceeded"),
            ("allow", "rule_match"),
            ("allow", "rule_match"),
            ("deny", "rule_expired"),
        ]

    def test_records_without_a_time_are_of_one_moment(self):
        assert [row[0] for row in decisions(*[{"id": "1", "tool": "limited"}] * 4)] == [
            "allow",
            "allow",
            "deny",
            "deny",
        ]

    def test_records_can_come_from_stdin(self, monkeypatch):
        content = json.dumps(CALLS[0]).encode()
        ended = run_with_stdin(monkeypatch, content, "check", "--policy", "p.yaml", "--call", "-")

        assert (ended.status, ended.out.count("\n")) == (0, 1)

    def test_links_are_followed_on_request_alone(self, folder):
        (folder / "real").mkdir()
        (folder / "link.md").symlink_to(folder / "real" / ".env")
        (folder / "p.yaml").write_text(
            'version: "1"\ntools: {read: {decision: allow, constraints: {paths: {roots: ["."], deny: ["**/.env"]}}}}'
        )
        call = {"id": "1", "tool": "read", "arguments": {"path": "link.md"}}

        assert [row[0] for row in decisions(call)] == ["allow"]
        assert [row[0] for row in decisions(call, options=("--follow-links",))] == ["deny"]

    def test_failing_judge_is_a_deny_that_is_said_and_ends_in_a_failure(self, monkeypatch):
        def fail(*_: object) -> None:
            raise RuntimeError("secret detail")

        monkeypatch.setattr(Engine, "decide_call", fail)
        ended = check("--output", "jsonl", calls=(CALLS[0],))

        assert json.loads(ended.out)["reason_code"] == "internal_error"
        assert json.loads(ended.out)["decision"] == "deny"
        assert ended.status == 1
        assert "internal error in line 1: RuntimeError" in ended.err
        assert "secret detail" not in ended.err


class TestUnreadableLines:
    @pytest.mark.parametrize(
        "line",
        [
            "nonsense",
            "[]",
            '"text"',
            "null",
            "{}",
            '{"tool": "read"}',
            '{"id": "", "tool": "read"}',
            '{"id": 1, "tool": "read"}',
            '{"id": "1", "tool": ""}',
            '{"id": "1", "tool": 2}',
            '{"id": "1", "tool": "read", "arguments": []}',
            '{"id": "1", "tool": "read", "arguments": "{}"}',
            '{"id": "1", "tool": "read", "tool": "other"}',
            '{"id": "1", "tool": "read", "uri": "a:b"}',
            '{"id": "1", "tool": "read", "time": "yesterday"}',
            '{"id": "1", "method": "tools/call"}',
            '{"id": "1", "uri": "a:b", "prompt": "c"}',
            "{" * 200,
        ],
    )
    def test_line_is_a_deny_of_its_own_and_stops_nothing(self, line):
        broken, good = rows(calls=(line, CALLS[0]))

        assert (broken["id"], broken["tool"], broken["decision"]) == ("line-1", "", "deny")
        assert broken["reason_code"] == "parse_error"
        assert broken["reason"].startswith("parse error: ")
        assert good["decision"] == "allow"

    def test_bytes_that_are_no_text_are_a_deny_too(self):
        Path("calls.jsonl").write_bytes(b'{"id": "\xff", "tool": "read"}\n' + json.dumps(CALLS[0]).encode())
        ended = run("check", "--policy", "p.yaml", "--call", "calls.jsonl", "--output", "jsonl")

        assert [json.loads(row)["reason_code"] for row in ended.out.splitlines()] == [
            "parse_error",
            "rule_match",
        ]

    def test_blank_lines_are_skipped_and_counted_as_lines(self):
        assert [row["id"] for row in rows(calls=("", "  \t", "x", "\r"))] == ["line-3"]

    def test_byte_order_mark_and_line_ends_of_windows_are_fine(self):
        text = "\ufeff" + "\r\n".join(json.dumps(call) for call in CALLS[:2])
        Path("calls.jsonl").write_bytes(text.encode())
        ended = run("check", "--policy", "p.yaml", "--call", "calls.jsonl", "--output", "jsonl")

        assert [json.loads(row)["id"] for row in ended.out.splitlines()] == ["1", "2"]

    def test_run_fails_when_no_line_can_be_read_and_writes_its_summary(self):
        ended = check("--summary", "s.json", calls=("x", "y"))
        summary = json.loads(Path("s.json").read_text())

        assert ended.status == 1
        assert "no line could be read" in ended.err
        assert (summary["total"], summary["parse_errors"], summary["failed"]) == (2, 2, True)

    def test_run_without_any_record_is_fine(self):
        assert check(calls=()).status == 0
        assert check(calls=("", "")).status == 0

    def test_long_lines_are_judged(self):
        long = {"id": "1", "tool": "read", "arguments": {"path": "a", "text": "x" * 5_000_000}}

        assert [row["decision"] for row in rows(calls=(long,))] == ["allow"]

    def test_line_over_the_limit_is_refused_and_the_next_is_judged(self, monkeypatch):
        monkeypatch.setattr(lines.read_lines, "__defaults__", (1_000,))
        long = {"id": "1", "tool": "read", "arguments": {"path": "a" * 200_000}}
        broken, good = rows(calls=(long, CALLS[0]))

        assert broken["reason"] == f"parse error: {check_run._TOO_LONG}"
        assert good["decision"] == "allow"


class TestAsking:
    def test_without_a_terminal_ask_is_denied_and_the_reason_says_so(self):
        (row,) = rows(calls=(CALLS[2],))

        assert row["reason"].startswith(
            "tool `send` has its own rule: ask; nobody is there to ask (use --approver"
        )

    @pytest.mark.parametrize("option", [("--approver", "deny"), ("--no-interactive",)])
    def test_nobody_is_asked_when_that_is_set(self, option):
        assert decisions(CALLS[2], options=option) == [("deny", "non_interactive_denied")]

    def test_dry_run_leaves_ask_and_says_so_in_the_text(self):
        assert decisions(CALLS[2], options=("--dry-run",)) == [("ask", "rule_match")]
        assert (
            check("--dry-run").out.splitlines()[2]
            == "3 send -> ask (tool `send` has its own rule: ask) [dry-run]"
        )

    def test_approver_of_the_proxy_is_refused(self):
        ended = check("--approver", "intercept")

        assert ended.status == 2
        assert "must be `tty`, `queue` or `deny`" in ended.err


class TestGates:
    @pytest.mark.parametrize(
        ("option", "status"),
        [("deny", 1), ("ask", 0), ("deny,ask", 1), (" deny , ask ", 1)],
    )
    def test_run_fails_on_the_decisions_that_are_listed(self, option, status):
        assert check("--fail-on", option).status == status

    def test_run_passes_when_none_was_decided_so(self):
        assert check("--fail-on", "deny,ask", calls=(CALLS[0],)).status == 0

    def test_unreadable_line_counts_as_denied(self):
        assert check("--fail-on", "deny", calls=("x", CALLS[0])).status == 1

    def test_ask_that_became_deny_is_no_ask(self):
        assert check("--fail-on", "ask", calls=(CALLS[2],)).status == 0

    def test_dry_run_never_fails_and_says_that_it_would_have(self):
        ended = check("--fail-on", "deny,ask", "--dry-run")

        assert ended.status == 0
        assert "--fail-on would have failed: 3 of 4 were decided deny or ask" in ended.err

    @pytest.mark.parametrize("option", ["allow", "deny,", "nothing", ","])
    def test_other_words_are_refused_before_anything_is_read(self, option):
        ended = run("check", "--policy", "nowhere.yaml", "--call", "nowhere", "--fail-on", option)

        assert ended.status == 2
        assert "--fail-on" in ended.err


class TestSummary:
    def test_summary_counts_everything_and_is_written_when_the_gate_fails(self):
        ended = check("--summary", "s.json", "--fail-on", "deny", calls=(*CALLS, "x", CALLS[1]))
        summary = json.loads(Path("s.json").read_text())

        assert ended.status == 1
        assert summary.pop("policy_digest").startswith("sha256:")
        assert summary == {
            "total": 6,
            "parse_errors": 1,
            "by_decision": {"allow": 1, "deny": 5, "ask": 0},
            "by_reason_code": {
                "default_decision": 1,
                "non_interactive_denied": 1,
                "parse_error": 1,
                "path_denied": 2,
                "rule_match": 1,
            },
            "top_denied_tools": [
                {"tool": "read", "count": 2},
                {"tool": "other", "count": 1},
                {"tool": "send", "count": 1},
            ],
            "top_denied_reasons": summary["top_denied_reasons"],
            "fail_on": ["deny"],
            "matched": 5,
            "failed": True,
            "dry_run": False,
        }
        assert [entry["count"] for entry in summary["top_denied_reasons"]] == [2, 1, 1]

    def test_summary_can_go_to_stderr(self):
        text = check("--summary", "-").err

        assert json.loads(text[: text.rindex("}") + 1])["total"] == 4

    def test_summary_that_cannot_be_written_is_a_usage_error(self):
        assert check("--summary", "no/such/folder").status == 2


def written():
    events = [json.loads(line) for line in Path("log.jsonl").read_text().splitlines()]
    for event in events:
        validate_event(event)
    return events


class TestAuditLog:
    def test_event_is_written_for_each_record_as_the_gate_writes_it(self):
        check("--audit-log", "log.jsonl", calls=(*CALLS, "x"))
        _, *events, _ = written()

        assert [(e["kind"], e["verdict"], e["decision"], e["reason_code"]) for e in events] == [
            ("judged", "allow", "allow", "rule_match"),
            ("judged", "deny", "deny", "path_denied"),
            ("judged", "ask", "deny", "rule_match"),
            ("judged", "deny", "deny", "default_decision"),
            ("refused", "deny", "deny", "parse_error"),
        ]
        assert [e["request_id"] for e in events] == ["1", "2", "3", "4", "line-5"]
        assert events[0]["arguments"] == {"path": "a.md"}
        assert events[2]["approval"]["outcome"] == "no_approver"
        assert {(e["transport"], e["mode"]) for e in events} == {("offline", "audit_only")}
        assert all("hash" in e for e in events)
        assert os.stat("log.jsonl").st_mode & 0o777 == 0o600

    def test_dry_run_is_said_in_the_event(self):
        check("--audit-log", "log.jsonl", "--dry-run", calls=(CALLS[2],))
        _, event, _ = written()

        assert (event["verdict"], event["decision"], event["mode"]) == ("ask", "ask", "dry_run")

    @pytest.mark.parametrize(
        ("options", "mode", "approver"),
        [((), "audit_only", "deny"), (("--dry-run",), "dry_run", "none")],
    )
    def test_run_has_events_of_its_own(self, options, mode, approver):
        check("--audit-log", "log.jsonl", *options)
        first, *judged, last = written()

        assert (first["kind"], first["surface"], last["kind"]) == ("run_started", "check", "run_ended")
        assert (first["mode"], first["approver"]) == (mode, approver)
        assert {event["policy_digest"] for event in judged} == {first["policy_digest"]}

    def test_log_is_rotated_and_signed_as_asked_for(self, folder):
        assert main(["audit", "keygen", "--private", "key", "--public", "key.pub"]) == 0
        check("--audit-log", "log.jsonl", "--audit-max-size", "600", "--audit-sign-key", "key")

        assert len(list(folder.glob("log.jsonl*"))) > 2
        assert main(["audit", "verify", "--log", "log.jsonl", "--pubkey", "key.pub"]) == 0

    def test_chain_can_be_left_out(self):
        check("--audit-log", "log.jsonl", "--no-tamper-evident")

        assert "hash" not in json.loads(Path("log.jsonl").read_text().splitlines()[0])

    def test_nothing_is_written_without_the_option(self, folder):
        check()

        assert sorted(path.name for path in folder.iterdir()) == ["calls.jsonl", "p.yaml"]

    def test_option_of_the_log_without_a_log_is_refused(self):
        ended = check("--tamper-evident")

        assert ended.status == 2
        assert "--audit-log" in ended.err

    def test_log_that_cannot_be_written_ends_the_run(self):
        assert check("--audit-log", "no/such/folder").status == 4


class TestSecrets:
    TOKEN = "ghp_Zq7Wm2Xk9Lp4Vt8Rn3Bc6Hd1Fs5Jg0Ya7Te2"

    @pytest.mark.parametrize("output", ["text", "json", "jsonl"])
    def test_secret_is_struck_out_wherever_it_stands(self, output):
        calls = (
            {"id": self.TOKEN, "tool": "read", "arguments": {"path": self.TOKEN}},
            {"id": "2", "tool": self.TOKEN},
            {"id": "3", "method": self.TOKEN},
            {"id": "4", "tool": "read", "server": self.TOKEN, "arguments": {"text": self.TOKEN}},
            f'{{"id": "5", "{self.TOKEN}": 1, "{self.TOKEN}": 2}}',
        )
        ended = check("--output", output, "--audit-log", "log.jsonl", "--summary", "s.json", calls=calls)
        everything = ended.out + ended.err + Path("s.json").read_text() + Path("log.jsonl").read_text()

        assert len(everything) > 1_000
        assert self.TOKEN not in everything

    def test_terminal_is_not_driven_by_names(self):
        out = check(calls=({"id": "a\u001b[2J", "tool": "x\u202ey"},)).out

        assert "\u001b" not in out
        assert "\u202e" not in out


class TestUsage:
    def test_missing_files_are_said(self):
        assert run("check", "--policy", "nowhere.yaml", "--call", record()).status == 3
        ended = run("check", "--policy", "p.yaml", "--call", "nowhere")
        assert (ended.status, "cannot read `nowhere`" in ended.err) == (2, True)
        assert run("check", "--policy", "p.yaml").status == 2

    def test_broken_policy_is_explained(self, folder):
        (folder / "p.yaml").write_text('version: "1"\ntool: {}\n')
        ended = check()

        assert ended.status == 3
        assert "did you mean `tools`?" in ended.err

    def test_reader_that_goes_away_is_no_traceback(self):
        record(*[CALLS[0]] * 20_000)
        command = f"{sys.executable} -m agentfence check --policy p.yaml --call calls.jsonl | head -n 1"
        ended = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)

        assert ended.stdout.count("\n") == 1
        assert ended.stderr == ""

    def test_memory_does_not_grow_with_the_input(self):
        """Names, ids and reasons that never come again, so that nothing may be kept of them."""
        peak = (
            "import resource, sys; from agentfence.cli.main import main; main(sys.argv[1:]);"
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)"
        )

        def peak_of(count: int) -> int:
            record(
                *({"id": f"id {n}", "tool": f"tool_{n}", "arguments": {"x": "y" * 200}} for n in range(count))
            )
            ended = subprocess.run(
                [sys.executable, "-c", peak, "check", "--policy", "p.yaml", "--call", "calls.jsonl"],
                capture_output=True,
                text=True,
                check=True,
            )
            return int(ended.stderr.split()[-1])

        assert peak_of(45_000) - peak_of(15_000) < 8_000
