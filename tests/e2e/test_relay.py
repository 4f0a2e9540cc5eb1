"""The relay as a process: framing, full pipes, signals, and how it ends."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from e2e.fence import BIN, POLICY, call_body, read_events, relay
from e2e.process import Process

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.e2e

ANSWERING = """
import json, sys
for line in sys.stdin.buffer:
    message = json.loads(line)
    if "id" in message:
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": {"got": len(line)}}
        sys.stdout.write(json.dumps(answer) + "\\n")
        sys.stdout.flush()
"""


def server(folder: Path, program: str = ANSWERING) -> list[str]:
    """The command of a server that is this program."""
    file = folder / "server.py"
    file.write_text(program)
    return [sys.executable, str(file)]


def start(folder: Path, program: str = ANSWERING, *options: str, policy: str = POLICY) -> Process:
    return Process(relay(folder, *server(folder, program), policy=policy, options=options), cwd=folder)


def read(process: Process) -> Any:
    return json.loads(process.read_line())


ALLOWED = call_body("read_file", 1, path="a")
DENIED = call_body("delete_file", "x", path="a")


# --- servers that do not start, or do not stay ---


@pytest.mark.parametrize(
    ("command", "status", "said"),
    [
        (["nowhere-at-all"], 127, "there is no such program on the PATH"),
        (["/nowhere/at/all"], 127, "there is no such file"),
        (["{}/no_interpreter"], 127, "what its first line says to run it with is not there"),
        (["{}/plain"], 126, "it is not executable"),
        (["{}"], 126, "it is a folder"),
        ([""], 126, "an empty name"),
    ],
)
def test_server_that_cannot_be_run_is_said(
    command: list[str], status: int, said: str, tmp_path: Path
) -> None:
    (tmp_path / "plain").write_text("x")
    (tmp_path / "no_interpreter").write_text("#!/nowhere/at/all\n")
    (tmp_path / "no_interpreter").chmod(0o755)
    with Process(relay(tmp_path, command[0].format(tmp_path)), cwd=tmp_path) as process:
        assert process.wait() == status
        assert said in process.stderr


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("raise SystemExit(3)", "agentfence: the server ended with status 3\n"),
        ("import os; os.kill(os.getpid(), 9)", "agentfence: the server ended by signal 9\n"),
    ],
)
def test_server_that_ends_by_itself_is_said(program: str, said: str, tmp_path: Path) -> None:
    with start(tmp_path, program) as process:
        process.wait()
        assert said in process.stderr


# --- names of servers ---


@pytest.mark.parametrize(("word", "is_said"), [("other", True), ("**", False)])
def test_server_that_no_entry_covers_is_said_at_the_start(word: str, is_said: bool, tmp_path: Path) -> None:
    policy = f'version: "1"\nservers: {{files: {{command: ["{word}"]}}}}\nforbid: [{{tools: ["files/*"]}}]\n'
    with start(tmp_path, policy=policy) as process:
        process.write(ALLOWED + b"\n")
        read(process)

        assert is_said == ("no entry of `servers:` covers this command" in process.stderr)


# --- lines ---


def test_agent_sends_an_allowed_and_a_denied_call(tmp_path: Path) -> None:
    with start(tmp_path) as process:
        process.write(ALLOWED + b"\n")
        answered = read(process)
        process.write(DENIED + b"\n")
        refused = read(process)
        process.close_stdin()

        assert answered == {"jsonrpc": "2.0", "id": 1, "result": {"got": len(ALLOWED) + 1}}
        assert (refused["id"], refused["error"]["code"]) == ("x", -32001)
        assert process.wait() == 0

    decisions = [event["decision"] for event in read_events(tmp_path / "audit.jsonl")]
    assert decisions == ["allow", "deny"]


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_agent_writes_in_pieces_that_split_characters(size: int, tmp_path: Path) -> None:
    message = json.loads(call_body("read_file", 1, path="äöü€😀"))
    line = json.dumps(message, ensure_ascii=False).encode() + b"\r\n"
    with start(tmp_path) as process:
        for position in range(0, len(line), size):
            process.write(line[position : position + size])

        assert read(process)["result"] == {"got": len(line) - 1}


def test_agent_ends_its_last_line_with_the_end_of_its_output(tmp_path: Path) -> None:
    with start(tmp_path) as process:
        process.write(ALLOWED)
        process.close_stdin()

        assert read(process)["id"] == 1
        assert process.wait() == 0


def test_agent_sends_lines_that_are_no_messages(tmp_path: Path) -> None:
    with start(tmp_path) as process:
        process.write(b"\n  \t\n\r\nnonsense\n[]\n" + ALLOWED + b"\n")
        codes = [read(process)["error"]["code"] for _ in range(2)]

        assert codes == [-32700, -32004]
        assert read(process)["id"] == 1


def test_agent_sends_a_line_at_and_over_the_limit(tmp_path: Path) -> None:
    exact = call_body("read_file", 1, path="a")
    exact = exact.replace(b'"a"', b'"' + b"a" * (1000 - len(exact) + 1) + b'"')
    with start(tmp_path, ANSWERING, "--max-body", "1000") as process:
        process.write(exact + b"\n")
        assert read(process)["result"] == {"got": 1001}
        process.write(exact.replace(b"aa", b"aaa", 1) + b"\n")
        refused = read(process)
        assert (refused["id"], refused["error"]["code"]) == (None, -32005)
        process.write(b"x" * 3_000_000 + b"\n" + ALLOWED + b"\n")
        assert read(process)["error"]["code"] == -32005
        assert read(process)["id"] == 1


def test_agent_sends_a_line_whose_two_ends_are_a_message(tmp_path: Path) -> None:
    with start(tmp_path, ANSWERING, "--max-body", "100000") as process:
        process.write(call_body("read_file", 1, path="a" * 3_000_000) + b"\n" + ALLOWED + b"\n")
        refused = read(process)
        assert (refused["id"], refused["error"]["code"]) == (None, -32005)
        assert read(process)["result"] == {"got": len(ALLOWED) + 1}


def test_agent_hides_a_second_line_behind_a_carriage_return(tmp_path: Path) -> None:
    program = ANSWERING.replace(
        "sys.stdin.buffer", 'open(0, "rb").read().replace(b"\\r", b"\\n").splitlines(True)'
    )
    program = program.replace("message = json.loads(line)", "sys.stderr.write(repr(line)); message = {}")
    trick = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":\r' + DENIED + b"\r}}\n"
    with start(tmp_path, program, "--log-level", "quiet") as process:
        process.write(trick)
        process.close_stdin()
        process.wait()

        assert process.stderr.count("ping") == 1
        assert "\\n{" not in process.stderr


def test_answers_of_the_fence_and_of_the_server_never_mix(tmp_path: Path) -> None:
    program = """
import json, sys
for line in sys.stdin.buffer:
    message = json.loads(line)
    text = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"text": "y" * 20000}}) + "\\n"
    for position in range(0, len(text), 4093):
        sys.stdout.write(text[position : position + 4093])
        sys.stdout.flush()
"""
    with start(tmp_path, program) as process:
        for number in range(200):
            process.write(call_body("read_file" if number % 2 else "delete_file", number, path="a") + b"\n")
        answers = [read(process) for _ in range(200)]

    assert sorted(answer["id"] for answer in answers) == list(range(200))
    assert all(("error" in answer) == (answer["id"] % 2 == 0) for answer in answers)


def test_neither_side_reads_for_a_while(tmp_path: Path) -> None:
    program = """
import json, sys, time
time.sleep(1)
for line in sys.stdin.buffer:
    message = json.loads(line)
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"t": "z" * 50000}}) + "\\n")
    sys.stdout.flush()
"""
    with start(tmp_path, program) as process:
        for number in range(100):
            process.write(call_body("read_file", number, path="p" * 50000) + b"\n")
        time.sleep(0.5)

        assert [read(process)["id"] for _ in range(100)] == list(range(100))


# --- ends ---


def test_servers_stderr_passes_and_its_status_is_returned(tmp_path: Path) -> None:
    program = "import sys\nsys.stdin.read()\nsys.stderr.write('from the server')\nsys.exit(7)\n"
    with start(tmp_path, program) as process:
        process.close_stdin()

        assert process.wait() == 7
        assert "from the server" in process.stderr


def test_status_is_the_servers_where_a_client_ignores_the_ends_of_its_children(tmp_path: Path) -> None:
    command = relay(tmp_path, "sh", "-c", "exit 7")
    ignoring = f"import os, signal\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\nos.execv({command[0]!r}, {command!r})"
    ran = subprocess.run([sys.executable, "-c", ignoring], stdin=subprocess.DEVNULL, timeout=60, check=False)

    assert ran.returncode == 7


def test_server_ends_first_and_calls_in_flight_are_answered(tmp_path: Path) -> None:
    program = "import sys, os\nsys.stdin.readline()\nos._exit(3)\n"
    with start(tmp_path, program) as process:
        process.write(ALLOWED + b"\n")
        answered = read(process)

        assert (answered["id"], answered["error"]["code"]) == (1, -32002)
        assert process.wait(5) == 3


def test_server_is_killed_by_a_signal(tmp_path: Path) -> None:
    with start(tmp_path, "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n") as process:
        assert process.wait(5) == 128 + signal.SIGKILL


def test_what_a_server_writes_before_it_ends_arrives(tmp_path: Path) -> None:
    program = (
        "import sys\nsys.stdin.readline()\n"
        'print(\'{"jsonrpc": "2.0", "id": 1, "result": {"x": "\' + \'y\' * 300000 + \'"}}\', flush=True)\n'
    )
    with start(tmp_path, program) as process:
        process.write(ALLOWED + b"\n")

        assert len(read(process)["result"]["x"]) == 300_000
        assert process.wait(5) == 0


def test_what_a_server_wrote_waits_for_an_agent_that_is_slow(tmp_path: Path) -> None:
    count = 10_000
    command = relay(tmp_path, *server(tmp_path), policy=POLICY)
    requests = b"".join(call_body("read_file", number) + b"\n" for number in range(count))
    (tmp_path / "requests").write_bytes(requests)
    with (tmp_path / "requests").open("rb") as stdin:
        process = subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, cwd=tmp_path)
    try:
        time.sleep(4)
        assert process.poll() is None
        assert process.stdout is not None
        assert len(process.stdout.readlines()) == count
        assert process.wait(10) == 0
    finally:
        process.kill()


def test_server_leaves_a_child_that_keeps_its_output_open(tmp_path: Path) -> None:
    program = (
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(20)'])\n"
        "sys.stderr.write(f'child {child.pid}.')\n"
    )
    with start(tmp_path, program) as process:
        began = time.monotonic()
        assert process.wait(10) == 0
        assert time.monotonic() - began < 8
        child = int(process.stderr.split("child ")[1].split(".")[0])
        os.kill(child, signal.SIGKILL)


def test_relay_sleeps_while_it_waits_for_the_last_answer(tmp_path: Path) -> None:
    program = ANSWERING.replace("    message =", "    time.sleep(4)\n    message =").replace(
        "sys\n", "sys, time\ntime.sleep(1)\n"
    )
    with start(tmp_path, program) as process:
        process.write(call_body("read_file", 1, path="a" * 3_000_000) + b"\n")
        process.close_stdin()
        time.sleep(2)
        before = processor_time(process.pid)
        time.sleep(2)

        assert processor_time(process.pid) - before < 0.2
        assert read(process)["id"] == 1


def processor_time(pid: int) -> float:
    """Seconds of the processor that a process has had."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat") as status:
        user, system = status.read().rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
    return 0.0  # a system that does not tell


def test_server_leaves_a_child_that_goes_on_writing(tmp_path: Path) -> None:
    program = (
        "import subprocess, sys\n"
        "sys.stdin.readline()\n"
        "child = subprocess.Popen(['yes', 'no message ' * 20])\n"
        "sys.stderr.write(f'child {child.pid}.')\n"
    )
    with start(tmp_path, program, "--log-level", "quiet") as process:
        process.write(ALLOWED + b"\n")
        answered = read(process)

        assert (answered["id"], answered["error"]["code"]) == (1, -32002)
        assert process.wait(10) == 0
        child = int(process.stderr.split("child ")[1].split(".")[0])
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)


def test_a_server_that_writes_rubbish_keeps_nobody_waiting(tmp_path: Path) -> None:
    options = ("--log-level", "quiet", "--audit-log", "none")
    with Process([*relay(tmp_path, "yes", options=options)], cwd=tmp_path) as process:
        time.sleep(1)
        process.write(DENIED + b"\n")
        assert json.loads(process.read_line(timeout=10))["id"] == "x"
        os.kill(process.pid, signal.SIGTERM)

        assert process.wait(10) == 128 + signal.SIGTERM


def test_lines_that_are_read_at_once_keep_their_order(tmp_path: Path) -> None:
    count = 3_000
    with start(tmp_path, ANSWERING, "--log-level", "quiet") as process:
        lines = [call_body("read_file", number, path="a") for number in range(count)]
        process.write(b"\n".join(lines))
        process.close_stdin()

        assert [read(process)["id"] for _ in range(count)] == [*range(count)]
        assert process.wait() == 0


def test_a_server_that_closed_its_input_leaves_no_call_unanswered(tmp_path: Path) -> None:
    program = "import os, time\nos.close(0)\nprint('{}', file=open(2, 'w'), flush=True)\ntime.sleep(60)\n"
    with start(tmp_path, program) as process:
        process.wait_for_stderr("{}")
        for _ in range(2):
            process.write(ALLOWED + b"\n")
            answered = read(process)

            assert (answered["id"], answered["error"]["code"]) == (1, -32002)


def test_an_agent_that_reads_no_more_has_nothing_more_done(tmp_path: Path) -> None:
    record = tmp_path / "record"
    program = ANSWERING.replace(
        "    message =", f"    open({str(record)!r}, 'ab').write(line)\n    message ="
    )
    command = relay(tmp_path, *server(tmp_path, program))
    with subprocess.Popen(command, bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(ALLOWED + b"\n")
        process.stdout.readline()
        process.stdout.close()
        with contextlib.suppress(BrokenPipeError):
            for number in range(2, 100):
                process.stdin.write(call_body("read_file", number, path="a") + b"\n")
                time.sleep(0.1)

        assert process.wait(10) == 0
        assert len(record.read_bytes().splitlines()) < 10


def test_a_server_that_goes_on_after_its_last_answer_is_told_to_end(tmp_path: Path) -> None:
    program = ANSWERING.replace("    message =", "    time.sleep(1)\n    message =").replace(
        "sys\n", "sys, time\n"
    )
    with start(tmp_path, program + "time.sleep(60)\n") as process:
        process.write(ALLOWED + b"\n")
        process.close_stdin()

        assert read(process)["id"] == 1
        assert process.wait(15) == 128 + signal.SIGTERM


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_server_that_ends_with_its_input(number: signal.Signals, tmp_path: Path) -> None:
    program = "import signal, sys\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('up', file=sys.stderr, flush=True)\nsys.stdin.read()\nsys.exit(5)\n"
    with start(tmp_path, program) as process:
        process.wait_for_stderr("up")
        os.kill(process.pid, number)

        assert process.wait(5) == 5


def test_a_signal_ends_a_server_that_ignores_everything(tmp_path: Path) -> None:
    program = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: print('told to end', file=sys.stderr, flush=True))\n"
        "print('up', file=sys.stderr, flush=True)\n"
        "while True:\n    time.sleep(1)\n"
    )
    with start(tmp_path, program) as process:
        process.wait_for_stderr("up")
        began = time.monotonic()
        os.kill(process.pid, signal.SIGTERM)

        assert process.wait(10) == 128 + signal.SIGKILL
        assert "told to end" in process.stderr
        assert time.monotonic() - began < 5


def test_a_signal_ends_the_relay_soon_where_nobody_reads_what_a_server_writes(tmp_path: Path) -> None:
    program = (
        "import json\n"
        'params = {"level": "info", "data": "x" * 2000}\n'
        'line = json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": params})\n'
        "while True:\n    print(line, flush=True)\n"
    )
    command = relay(tmp_path, *server(tmp_path, program), policy=POLICY)
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tmp_path)
    try:
        time.sleep(2)  # by then all that is between them is full
        process.terminate()
        began = time.monotonic()

        assert process.wait(15) == 128 + signal.SIGTERM
        assert time.monotonic() - began < 5
    finally:
        process.kill()
        process.communicate()


def test_no_zombie_and_no_orphan_is_left(tmp_path: Path) -> None:
    program = (
        "import os, sys, time\nprint(f'pid {os.getpid()}.', file=sys.stderr, flush=True)\ntime.sleep(60)\n"
    )
    with start(tmp_path, program) as process:
        child = int(process.wait_for_stderr("pid ").split("pid ")[1].split(".")[0])
        os.kill(process.pid, signal.SIGTERM)
        process.wait(10)

    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone tells a process of another's end")
def test_a_server_that_ignores_the_end_of_its_input_does_not_outlive_a_killed_relay(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys\n"
        "os.fork()  # what the server starts holds its descriptors as well\n"
        "signal.signal(signal.SIGTERM, lambda *_: (open('ended', 'w'), os._exit(0)))\n"
        "print('up', file=sys.stderr, flush=True)\n"
        "while True:\n    signal.pause()\n"
    )
    with start(tmp_path, program) as process:
        process.wait_for_stderr("up")
        process.write(ALLOWED + b"\n")
        os.kill(process.pid, signal.SIGKILL)

        assert process.wait(5) == -signal.SIGKILL
        end = time.monotonic() + 5
        while not (tmp_path / "ended").exists():
            assert time.monotonic() < end
            time.sleep(0.02)


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGUSR1])
def test_a_signal_for_all_relays_does_not_end_one_that_just_begins(number: signal.Signals) -> None:
    program = (
        "import signal, sys\nfrom agentfence import relay_start\n"
        f"relay_start._run = lambda *_: signal.raise_signal({int(number)}) or 7\n"
        "sys.exit(relay_start.start(['--', 'true']))\n"
    )

    assert subprocess.run([sys.executable, "-c", program], timeout=30, check=False).returncode == 7


# --- mistakes ---


def run(*arguments: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "agentfence.stdio", *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "HOME": str(folder), **variables},
        input="",
        timeout=60,
        check=False,
    )


MISTAKES = {
    "no command": ([], 2, "no server command"),
    "an unknown flag": (["--nonsense", "--", "true"], 2, "nonsense"),
    "a bad number": (["--max-body", "0", "--", "true"], 2, "max_body"),
    "no number": (["--max-body", "NaN", "--", "true"], 2, "max_body"),
    "an empty number": (["--max-body", "", "--", "true"], 2, "empty"),
    "an unknown choice": (["--on-batch", "maybe", "--", "true"], 2, "reject"),
    "a policy that is not there": (["--policy", "nowhere.yaml", "--", "true"], 3, "nowhere.yaml"),
    "a policy that is a folder": (["--policy", ".", "--", "true"], 3, "."),
    "an audit log in no folder": (["--audit-log", "/nowhere/log", "--", "true"], 4, "/nowhere/log"),
    "an audit log that is a folder": (["--audit-log", "/", "--", "true"], 4, "audit log"),
    "a command that is not there": (["--", "no-such-command-here"], 127, "no-such-command-here"),
    "a command that cannot be run": (["--", "/etc/passwd"], 126, "/etc/passwd"),
    "a server of no name": (["--server", "x", "--policy", "named.yaml", "--", "true"], 2, "files"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_said_in_one_line(mistake: str, tmp_path: Path) -> None:
    arguments, status, said = MISTAKES[mistake]
    (tmp_path / "named.yaml").write_text('version: "1"\nservers: {files: {command: ["files"]}}\n')

    ran = run(*arguments, folder=tmp_path)

    assert ran.returncode == status
    assert said in ran.stderr
    assert "Traceback" not in ran.stderr
    assert ran.stdout == ""


@pytest.mark.parametrize("entry", [["-m", "agentfence.stdio"], ["-m", "agentfence", "proxy"]])
@pytest.mark.parametrize("closed", ["<&-", ">&-"])
def test_an_agent_that_is_not_there_is_said_before_a_server_starts(
    closed: str, entry: list[str], tmp_path: Path
) -> None:
    command = [sys.executable, *entry, "--audit-log", "none", "--", "touch", "started"]
    ran = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}', "sh", *command],
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        check=False,
    )

    assert (ran.returncode, "is closed" in ran.stderr) == (2, True), ran.stderr
    assert not (tmp_path / "started").exists()


def test_a_bad_variable_is_said(tmp_path: Path) -> None:
    ran = run("--", "true", folder=tmp_path, AGENTFENCE_MAX_BODY="many")

    assert (ran.returncode, "AGENTFENCE_MAX_BODY" in ran.stderr or "max_body" in ran.stderr) == (2, True)


def test_variables_of_the_fence_do_not_reach_the_server(tmp_path: Path) -> None:
    program = "import os, sys\nsys.stderr.write(repr(sorted(k for k in os.environ if 'AGENT' in k)))\n"
    ran = run("--", *server(tmp_path, program), folder=tmp_path, AGENTFENCE_MODE="observe", AGENT_X="1")

    assert "['AGENT_X']" in ran.stderr
    assert "mode observe" in ran.stderr


def test_observing_lets_a_denied_call_pass_and_says_so(tmp_path: Path) -> None:
    with start(tmp_path, ANSWERING, "--mode", "observe") as process:
        process.write(DENIED + b"\n" + b"[1]\n")

        assert {json.dumps(read(process).get("result")) for _ in range(2)} >= {"null"}

    (event, refused) = read_events(tmp_path / "audit.jsonl")
    assert (event["verdict"], event["decision"], event["mode"]) == ("deny", "allow", "observe")
    assert refused["decision"] == "deny"


def test_a_log_that_can_no_longer_be_written_stops_calls(tmp_path: Path) -> None:
    log = tmp_path / "audit.jsonl"
    with start(tmp_path) as process:
        process.write(ALLOWED + b"\n")
        assert "result" in read(process)
        log.unlink()
        log.mkdir()
        process.write(ALLOWED + b"\n")
        refused = read(process)
        log.rmdir()
        process.write(ALLOWED + b"\n")
        recovered = read(process)

        assert refused["error"]["data"]["agentfence"]["reason_code"] == "audit_unwritable"
        assert "result" in recovered
        assert "cannot be written" in process.stderr


def test_without_a_stderr_nothing_lands_on_stdout(tmp_path: Path) -> None:
    command = f"exec {shlex.join(relay(tmp_path, 'no-such-server'))} 2>&-"

    ran = subprocess.run(["sh", "-c", command], capture_output=True, timeout=60, check=False)

    assert (ran.returncode, ran.stdout) == (127, b"")


OURS, THEIRS = (
    ("agentfence", "importlib", "warnings"),
    (
        *(
            "__future__",
            "argparse",
            "collections",
            "enum",
            "fcntl",
            "functools",
            "gc",
            "hashlib",
            "jiter",
            "json",
        ),
        *(
            "mitmproxy",
            "os",
            "re",
            "re2",
            "runpy",
            "select",
            "signal",
            "subprocess",
            "time",
            "typing",
            "yaml",
        ),
    ),
)


@pytest.mark.parametrize(
    ("entry", "names"),
    [
        ((sys.executable, "-m", "agentfence.stdio"), THEIRS),
        ((sys.executable, "-P", "-m", "agentfence.stdio"), OURS + THEIRS),
        ((sys.executable, "-I", "-m", "agentfence.stdio"), OURS + THEIRS),
        ((sys.executable, "-I", "-m", "agentfence", "proxy"), OURS + THEIRS),
        ((str(BIN / "agentfence"), "proxy"), OURS + THEIRS),
    ],
)
def test_no_module_of_the_working_folder_is_loaded(
    entry: tuple[str, ...], names: tuple[str, ...], tmp_path: Path
) -> None:
    for name in names:
        (tmp_path / f"{name}.py").write_text("import sys\nsys.stderr.write('of the folder ' + __name__)\n")
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("import sys\nsys.stderr.write('of the folder')\n")
    (tmp_path / "p.yaml").write_text(POLICY)

    ran = subprocess.run(
        [*entry, "--policy", "p.yaml", "--audit-log", "none", "--", "cat"],
        env={**os.environ, **({"PYTHONPATH": str(tmp_path)} if "-I" in entry else {})},
        capture_output=True,
        cwd=tmp_path,
        input=ALLOWED + b"\n",
        timeout=60,
        check=False,
    )

    assert ran.returncode == 0
    assert b"of the folder" not in ran.stderr
    assert b"allow  read_file" in ran.stderr


def test_the_relay_imports_nothing_heavy(tmp_path: Path) -> None:
    program = (
        "import sys\nfrom agentfence.stdio import main\n"
        "status = main(['--policy', 'p.yaml', '--audit-log', 'none', '--', 'true'])\n"
        "heavy = {'mitmproxy', 'rich', 'jsonschema', 're2', 'can_ada', 'tree_sitter', 'asyncio'} & set(sys.modules)\n"
        "print(heavy)\n"
    )
    (tmp_path / "p.yaml").write_text(POLICY)

    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path, timeout=60, check=True
    )

    assert ran.stdout.strip() == "set()"


def test_many_calls_leave_the_memory_as_it_was(tmp_path: Path) -> None:
    with start(tmp_path) as process:
        for _ in range(3):
            for number in range(300):
                process.write(call_body("read_file", number, path="a" * 5000) + b"\n")
            for _ in range(300):
                read(process)
            with contextlib.suppress(OSError), open(f"/proc/{process.pid}/status") as status:
                last = int(next(line for line in status if line.startswith("VmRSS")).split()[1])

    assert last < 80_000
