"""A headless Chromium that a test drives through WebDriver (W3C), as a person uses a browser."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import os
import shutil
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from e2e.network import free_port
from e2e.process import Process

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
"""The key by which WebDriver names an element."""
_ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",  # CI runs as root
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--no-proxy-server",
    "--window-size=1280,900",
)


@dataclass(frozen=True, slots=True)
class Browser:
    """One window."""

    port: int
    session: str

    def call(self, method: str, path: str, body: Any = None) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        with contextlib.closing(connection):
            sent = None if method == "GET" else json.dumps(body or {})
            connection.request(
                method, f"/session/{self.session}{path}", sent, {"Content-Type": "application/json"}
            )
            answer = connection.getresponse()
            value = json.loads(answer.read())["value"]
            if answer.status >= 400:
                raise AssertionError(f"{path}: {value['error']}: {value['message'].splitlines()[0]}")
            return value

    def open(self, url: str) -> None:
        self.call("POST", "/url", {"url": url})

    def run(self, script: str, *arguments: Any) -> Any:
        """What JavaScript in the page returns."""
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def find(self, css: str) -> list[str]:
        found = self.call("POST", "/elements", {"using": "css selector", "value": css})
        return [element[_ELEMENT] for element in found]

    def click(self, css: str) -> None:
        """Click the one element there is, once it is there."""
        self.until(lambda: len(self.find(css)) == 1, css)
        self.call("POST", f"/element/{self.find(css)[0]}/click")

    def press(self, keys: str) -> None:
        """Type on the keyboard, to whatever has the focus."""
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def paste_over(self, text: str) -> None:
        """Replace all that stands where the focus is, as Ctrl+A and pasting do."""
        keys = [("keyDown", "\ue009"), ("keyDown", "a"), ("keyUp", "a"), ("keyUp", "\ue009")]
        actions = [{"type": kind, "value": key} for kind, key in keys]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})
        self.command("Input.insertText", text=text)
        self.settle()

    def settle(self) -> None:
        """Wait until the page has drawn what was done, as a person does before the next click."""
        script = "requestAnimationFrame(() => setTimeout(arguments[0]))"
        self.call("POST", "/execute/async", {"script": script, "args": []})

    def command(self, name: str, **parameters: Any) -> Any:
        """What a command of Chromium's own protocol gives."""
        return self.call("POST", "/goog/cdp/execute", {"cmd": name, "params": parameters})

    def text(self, css: str = "body") -> str:
        """The text of the page as it is drawn."""
        return self.run("const e = document.querySelector(arguments[0]); return e ? e.innerText : ''", css)

    def wait_for(self, text: str, css: str = "body") -> str:
        self.until(lambda: text in self.text(css), f"`{text}` in {css}")
        return self.text(css)

    def until(self, condition: Callable[[], bool], what: str, seconds: float = 60) -> None:
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise AssertionError(f"the page never had {what}:\n{self.text()[:3000]}")
            time.sleep(0.1)

    def screenshot(self, file: Path) -> None:
        file.write_bytes(base64.b64decode(self.call("GET", "/screenshot")))

    def emulate(self, scheme: str) -> None:
        """Have the system prefer `light` or `dark`."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.command("Emulation.setEmulatedMedia", features=features)


@contextlib.contextmanager
def start_browser(folder: Path) -> Iterator[Browser]:
    """A new browser with a profile of its own; fails where none is installed."""
    driver, chromium = shutil.which("chromedriver"), shutil.which("chromium")
    if driver is None or chromium is None:
        raise AssertionError("chromium and chromedriver are needed: scripts/setup --parts installs them")
    port = free_port()
    env = {"HOME": str(folder), "NO_PROXY": "*", "PATH": os.environ["PATH"]}
    with Process([driver, f"--port={port}"], env=env) as process:
        while "started successfully" not in process.read_line(60):
            pass
        options = {"binary": chromium, "args": [*_ARGUMENTS, f"--user-data-dir={folder / 'profile'}"]}
        wanted = {"capabilities": {"alwaysMatch": {"browserName": "chrome", "goog:chromeOptions": options}}}
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        with contextlib.closing(connection):
            connection.request("POST", "/session", json.dumps(wanted), {"Content-Type": "application/json"})
            value = json.loads(connection.getresponse().read())["value"]
        if "sessionId" not in value:
            raise AssertionError(f"no browser: {value.get('message')}")
        browser = Browser(port, value["sessionId"])
        yield browser
        browser.call("DELETE", "")
