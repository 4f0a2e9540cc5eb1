"""mitmweb as the console of the fence, in a real browser: approve, deny, edit, look."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest
from e2e.browser import Browser, start_browser
from e2e.fence import Proxy, body_of, call_body, post, send_raw, start_proxy
from e2e.network import (
    RecordingUpstream,
    Request,
    Response,
    answer_result,
    free_port,
    start_recording_upstream,
)
from mitmproxy.io import FlowReader

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.e2e

POLICY = """\
version: "1"
defaults: {decision: deny}
tools:
  read_file: allow
  write_file: {decision: ask, message: "writing needs a person"}
  delete_file: deny
"""
HOSTILE = "<img src=x onerror=document.title='owned'>\u202e</pre><script>document.title='owned'</script>"
SECRET = "ghp_" + "a1B2" * 9
IMAGES = os.environ.get("AGENTFENCE_TEST_IMAGES")
"""A folder for pictures of what is tested; they are taken for docs/images with it."""


@dataclass(frozen=True, slots=True)
class Console:
    """mitmweb with the fence in it, and a browser that is logged in."""

    browser: Browser
    proxy: Proxy
    upstream: RecordingUpstream
    port: int

    def path(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def api(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, bytes]:
        """What mitmweb says to a script that has the token."""
        sent = {"Authorization": "Bearer pw", "Content-Type": "application/json", **headers}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        with contextlib.closing(connection):
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            return answer.status, answer.read()

    def flows(self) -> list[dict[str, Any]]:
        return json.loads(self.api("GET", "/flows")[1])

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        """The flow of a call that is answered at once."""
        send_raw(self.proxy.port, post("/mcp", call_body(name, 1, **arguments)))
        return self.flows()[-1]

    def comment(self, asking: Asking) -> str:
        return next(flow["comment"] for flow in self.flows() if flow["id"] == asking.flow)

    def command(self, name: str, *arguments: str) -> Any:
        xsrf = {"Cookie": "_mitmproxy_xsrf=abc", "X-XSRFToken": "abc"}
        body = json.dumps({"arguments": arguments})
        return json.loads(self.api("POST", f"/commands/{name}", body, **xsrf)[1])

    def picture(self, name: str) -> None:
        if IMAGES:
            self.browser.screenshot(Path(IMAGES) / f"{name}.png")

    def executed(self) -> list[str]:
        return [json.loads(request.body)["params"]["name"] for request in self.upstream.requests]


class Asking:
    """A call that waits for a person, in a thread as its client would."""

    def __init__(self, console: Console, **arguments: Any) -> None:
        self._answer = b""
        self._thread = threading.Thread(target=self._ask, args=(console, arguments))
        self._thread.start()
        console.browser.until(lambda: any(flow["intercepted"] for flow in console.flows()), "a held flow")
        self.flow = next(flow["id"] for flow in console.flows() if flow["intercepted"])

    def _ask(self, console: Console, arguments: dict[str, Any]) -> None:
        request = post("/mcp", call_body("write_file", 1, **arguments))
        self._answer = send_raw(console.proxy.port, request, timeout=60)

    def answer(self) -> Any:
        self._thread.join(60)
        return body_of(self._answer)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    folder, port = tmp_path_factory.mktemp("mitmweb"), free_port()
    settings = ["web_password=pw", f"web_port={port}", "web_open_browser=false", "agentfence_keep_flows=12"]
    with (
        start_recording_upstream() as upstream,
        start_proxy(
            folder,
            upstream=upstream.url.removesuffix("/mcp"),
            program="mitmweb",
            settings=settings,
            policy=POLICY,
        ) as proxy,
        start_browser(folder) as browser,
    ):
        yield Console(browser, proxy, upstream, port)


@pytest.fixture
def console(running: Console) -> Console:
    """Nothing waits, and the person is logged in."""
    running.upstream.answer = answer_result
    running.upstream.requests.clear()
    running.browser.open(running.path("/agentfence/?token=pw"))
    return running


# --- the approvals page ---


def test_page_asks_for_the_token(running: Console) -> None:
    browser = running.browser
    browser.open(running.path("/agentfence/"))
    assert "Authentication Required" in browser.text()
    browser.click("input[name=token]")
    browser.press("pw")
    browser.press("\ue007")

    browser.wait_for("Nothing waits.")
    assert running.api("GET", "/agentfence/page.js", Authorization="")[0] == 403


def test_call_is_approved_on_the_page(console: Console) -> None:
    browser = console.browser
    console.call("read_file", path="docs/a.md")
    console.call("delete_file", path="docs/a.md")
    asking = Asking(console, path="docs/a.md", content="hello")
    shown = browser.wait_for("May write_file run?")  # by itself: the page was there before
    assert "writing needs a person" in shown
    console.picture("approvals-page")
    browser.click("article button[value=approve]")

    assert "result" in asking.answer()
    browser.wait_for("Approved call-")
    assert console.executed() == ["read_file", "write_file"]
    approval = console.proxy.events[-1]["approval"]
    assert (approval["outcome"], approval["by"]) == ("approved", "mitmweb (127.0.0.1)")
    assert console.comment(asking) == "✅ allow write_file"
    browser.wait_for("approval_approved", "#recent")
    browser.wait_for("write_file\trule_match", "#counts")


def test_call_is_denied_by_keyboard(console: Console) -> None:
    browser = console.browser
    asking = Asking(console, path="a")
    browser.until(lambda: len(browser.find("article button[value=deny]")) == 1, "the button")
    browser.run("document.querySelector('article a').focus()")
    browser.press("\ue004\ue004\ue004")  # Tab, past the arguments and Approve
    assert browser.run("return document.activeElement.value") == "deny"
    browser.press("\ue007")

    assert asking.answer()["error"]["data"]["agentfence"]["reason_code"] == "approval_denied"
    assert console.executed() == []
    assert console.comment(asking) == "⛔ deny write_file: approval_denied"
    browser.wait_for("Denied call-")
    assert (
        browser.run("return document.activeElement.id") == "said"
    )  # it is read out, and Tab goes on from there
    browser.wait_for("Nothing waits.")


def test_page_works_without_its_script(console: Console) -> None:
    browser = console.browser
    browser.command("Emulation.setScriptExecutionDisabled", value=True)
    try:
        asking = Asking(console, path="a")
        browser.open(console.path("/agentfence/"))
        browser.click("article button[value=approve]")
        assert "result" in asking.answer()
    finally:
        browser.command("Emulation.setScriptExecutionDisabled", value=False)


def test_arguments_are_text_and_nothing_else(console: Console) -> None:
    browser = console.browser
    asking = Asking(console, path=HOSTILE, **{"<b id=owned>": "x", "token": SECRET})
    browser.wait_for("May write_file run?")
    shown = browser.text("article pre")

    assert "<img src=x onerror=" in shown
    assert "<b id=owned>" in shown
    assert "\\u{202e}" in shown
    assert SECRET not in browser.run("return document.documentElement.outerHTML")
    assert browser.find("main img, main script, #owned") == []
    assert "owned" not in browser.run("return document.title")
    browser.click("article button[value=deny]")
    asking.answer()


def test_page_may_run_nothing_but_its_own(console: Console) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", console.port)
    connection.request("GET", "/agentfence/", headers={"Authorization": "Bearer pw"})
    answer = connection.getresponse()

    policy = answer.headers.get_all("Content-Security-Policy")
    assert policy is not None
    assert len(policy) == 1
    assert policy[0].startswith("default-src 'none'; script-src 'self'; style-src 'self';")
    assert "unsafe" not in policy[0]
    connection.close()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Authorization": ""}, 403),  # no token
        ({}, 403),  # a form of another site has no XSRF value
        ({"Cookie": "_mitmproxy_xsrf=abc", "X-XSRFToken": "other"}, 403),
    ],
)
def test_forged_answer_counts_for_nothing(console: Console, headers: dict[str, str], status: int) -> None:
    asking = Asking(console, path="a")
    question = console.browser.run("return fetch('/agentfence/').then(a => a.text())").split('article id="')[
        1
    ]
    form = urlencode({"question": question.split('"')[0], "reply": "approve"})
    forged = {"Content-Type": "application/x-www-form-urlencoded", **headers}

    assert console.api("POST", "/agentfence/answer", form, **forged)[0] == status
    assert any(flow["intercepted"] for flow in console.flows())
    console.command("agentfence.deny", f"@{asking.flow}")
    assert "error" in asking.answer()
    assert console.executed() == []


def test_answer_counts_for_its_own_question_alone(console: Console) -> None:
    asking = Asking(console, path="a")
    xsrf = {"Cookie": "_mitmproxy_xsrf=abc", "X-XSRFToken": "abc"}
    form = {"Content-Type": "application/x-www-form-urlencoded", **xsrf}
    page = console.api("GET", "/agentfence/")[1].decode()
    question = page.split('article id="')[1].split('"')[0]
    run, _, call = question.rpartition("-")
    of_other_run = (
        f"{'x' if run[0] != 'x' else 'y'}{run[1:]}-{call}"  # as a page that was open before a start
    )
    answers = [("approve", f"{run}-999999"), ("approve", f"call-{call}"), ("approve", of_other_run)]
    for reply, named in (*answers, ("approve_for_session", question), ("yes", question)):
        console.api("POST", "/agentfence/answer", urlencode({"question": named, "reply": reply}), **form)
    assert any(flow["intercepted"] for flow in console.flows())
    console.command("agentfence.deny", f"@{asking.flow}")

    assert asking.answer()["error"]["data"]["agentfence"]["reason_code"] == "approval_denied"


def test_page_says_which_policy_is_in_force(console: Console) -> None:
    shown = console.browser.text("#policy")

    assert str(console.proxy.folder / "policy.yaml") in shown
    assert console.proxy.events[-1]["policy_digest"] in shown
    assert "3 rules for tools" in shown
    console.browser.click("#policy summary")
    assert "policy.yaml:5" in console.browser.text("#policy")


def test_page_follows_the_systems_colours(console: Console) -> None:
    browser, colours = console.browser, []
    for scheme in ("light", "dark"):
        browser.emulate(scheme)
        colours.append(browser.run("return getComputedStyle(document.body).backgroundColor"))
    browser.emulate("light")

    assert colours == ["rgb(255, 255, 255)", "rgb(20, 22, 26)"]


# --- mitmweb's own view ---


def open_flow(console: Console, flow: str, part: str) -> None:
    """Open a flow as a person does who follows a link to it."""
    console.browser.open("about:blank")
    console.browser.open(console.path(f"/#/flows/{flow}/{part}"))
    console.browser.until(lambda: console.browser.find(".flow-detail") != [], "the flow")


def press_button(browser: Browser, text: str) -> None:
    script = (
        "const b = [...document.querySelectorAll('button')]"
        ".find(b => b.innerText.trim() === arguments[0] && !b.disabled);"
        "if (b) b.click(); return Boolean(b)"
    )
    browser.until(lambda: browser.run(script, text), f"a button `{text}`")


def test_resume_in_mitmweb_approves(console: Console) -> None:
    asking = Asking(console, path="a")
    open_flow(console, asking.flow, "request")
    press_button(console.browser, "Resume")

    assert "result" in asking.answer()
    assert console.executed() == ["write_file"]


def test_abort_in_mitmweb_denies_with_an_answer(console: Console) -> None:
    asking = Asking(console, path="a")
    open_flow(console, asking.flow, "request")
    press_button(console.browser, "Abort")

    assert asking.answer()["error"]["data"]["agentfence"]["reason_code"] == "approval_denied"
    assert console.executed() == []


def request_of(console: Console, flow: str) -> bytes:
    return console.api("GET", f"/flows/{flow}/request/content.data")[1]


@pytest.mark.parametrize(
    ("tool", "decisions"),
    [("delete_file", ["delete_file deny"]), ("read_file", ["read_file allow"])],
)
def test_edited_call_is_judged_again(console: Console, tool: str, decisions: list[str]) -> None:
    browser, before = console.browser, len(console.proxy.events)
    asking = Asking(console, path="a")
    open_flow(console, asking.flow, "request")
    press_button(browser, "Edit")
    browser.click(".codeeditor .cm-content")
    written = browser.text(".codeeditor .cm-content")
    assert '"write_file"' in written  # the bytes that will go on, not the view's rendering of them
    assert "decision:" not in written
    browser.paste_over(call_body(tool, 1).decode())
    press_button(browser, "Done")
    browser.until(lambda: request_of(console, asking.flow) == call_body(tool, 1), "the edit")
    press_button(browser, "Resume")
    asking.answer()

    events = console.proxy.events[before:]
    assert [f"{event['tool']} {event['decision']}" for event in events] == ["write_file deny", *decisions]
    assert console.executed() == [tool] * (tool == "read_file")


def test_message_is_readable_in_mitmweb(console: Console) -> None:
    flow = console.call("read_file", path="a", token=SECRET)
    open_flow(console, flow["id"], "request")
    shown = console.browser.wait_for('"tools/call"', ".contentview")

    assert console.browser.text(".contentview h5") == "MCP"
    assert "# decision: allow" in shown
    assert "# rule: read_file" in shown
    assert "# redacted here: " in shown
    assert SECRET not in shown
    open_flow(console, flow["id"], "response")
    console.browser.wait_for('"isError": false', ".contentview")


def test_event_stream_is_shown_while_it_streams(console: Console) -> None:
    goes_on = threading.Event()

    def events(request: Request) -> Iterator[bytes]:
        for number in range(3):
            notice = {
                "jsonrpc": "2.0",
                "method": "notifications/message",
                "params": {"level": "info", "data": f"step {number}"},
            }
            yield b"event: message\ndata: %s\n\n" % json.dumps(notice).encode()
        goes_on.wait(60)
        yield b"data: %s\n\n" % answer_result(request).body  # type: ignore[str-bytes-safe]

    stream = (("Content-Type", "text/event-stream"),)
    console.upstream.answer = lambda request: Response(events(request), headers=stream)
    client = threading.Thread(target=console.call, args=("read_file",))
    client.start()
    try:
        console.browser.until(lambda: console.executed() == ["read_file"], "the call")
        open_flow(console, console.flows()[-1]["id"], "response")
        console.browser.wait_for("# 3 events, and the stream is open", ".contentview")
        goes_on.set()
        shown = console.browser.wait_for("# 4 events, and the stream has ended", ".contentview")
        console.picture("event-stream")
    finally:
        goes_on.set()
        client.join(30)

    assert "# event 2: message" in shown
    assert "step 2" in shown


def test_flows_are_marked_and_found_by_filters(console: Console) -> None:
    denied = console.call("delete_file", path="a")
    allowed = console.call("read_file", path="a")

    assert (denied["marked"], denied["comment"]) == ("⛔", "⛔ deny delete_file: rule_match")
    assert (allowed["marked"], allowed["comment"]) == ("✅", "✅ allow read_file")
    for expression in (
        "~comment delete_file",
        "~marker no_entry",
        '~meta "reason_code: rule_match" & ~comment deny',
    ):
        found = console.api("GET", f"/flows/dump?{urlencode({'filter': expression})}")[1].decode("latin-1")
        assert denied["id"] in found
        assert allowed["id"] not in found


def test_old_flows_go(console: Console) -> None:
    for number in range(14):
        console.call("read_file", path=str(number))

    assert len(console.flows()) <= 12


def test_commands_answer(console: Console) -> None:
    asking = Asking(console, path="a")
    (line,) = console.command("agentfence.pending")["value"]
    assert line.startswith(asking.flow)
    assert "write_file for address:127.0.0.1" in line
    console.command("agentfence.approve", f"@{asking.flow}")

    assert "result" in asking.answer()
    assert console.proxy.events[-1]["approval"]["by"] == "a command of mitmproxy"
    rows = console.command("agentfence.stats")["value"]
    assert any(row[1:] == ["allow", "write_file", "rule_match"] for row in rows)


def test_file_of_flows_holds_what_was_decided(tmp_path: Path) -> None:
    file = tmp_path / "flows"
    with start_proxy(
        tmp_path,
        upstream="http://127.0.0.1:9",
        policy=POLICY,
        settings=[f"save_stream_file={file}"],
    ) as proxy:
        send_raw(proxy.port, post("/mcp", call_body("delete_file")))
    with file.open("rb") as saved:
        (flow,) = FlowReader(saved).stream()

    assert (flow.marked, flow.comment) == (":no_entry:", "⛔ deny delete_file: rule_match")
    assert "decision: deny\n" in flow.metadata["agentfence"]
