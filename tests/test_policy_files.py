"""Policy files on the disk: which one a run uses, and what it may import."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from agentfence import policy_files
from agentfence.core.errors import PolicyError, UsageError
from agentfence.core.policy.rendering import render_text
from agentfence.policy_files import FoundPolicy, find_policy, load_policy, packaged_folder

MINIMAL = 'version: "1"\n'
PACKAGED = sorted(Path(packaged_folder()).glob("*.yaml"))


def write(path, text=MINIMAL):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def load(path, **environment):
    return load_policy(FoundPolicy(str(path), "test"), environment)


def message_of(path):
    with pytest.raises(PolicyError) as caught:
        load(path)
    return render_text(caught.value.problems)


class TestFinding:
    def test_option_comes_before_everything(self, tmp_path):
        write(tmp_path / ".config" / "agentfence" / "policy.yaml")
        environment = {"AGENTFENCE_POLICY": "/b.yaml", "HOME": str(tmp_path)}

        assert find_policy("a.yaml", environment).reference == "a.yaml"

    def test_variable_comes_before_the_configuration_folder(self, tmp_path):
        write(tmp_path / ".config" / "agentfence" / "policy.yaml")
        found = find_policy(None, {"AGENTFENCE_POLICY": "/b.yaml", "HOME": str(tmp_path)})

        assert found == FoundPolicy("/b.yaml", "AGENTFENCE_POLICY")

    def test_users_own_policy_is_in_the_configuration_folder(self, tmp_path):
        at_home = write(tmp_path / ".config" / "agentfence" / "policy.yaml")
        elsewhere = write(tmp_path / "xdg" / "agentfence" / "policy.yaml")
        home = {"HOME": str(tmp_path)}

        assert find_policy(None, home).reference == str(at_home)
        assert find_policy(None, {**home, "XDG_CONFIG_HOME": str(tmp_path / "xdg")}).reference == str(
            elsewhere
        )
        assert find_policy(None, {**home, "XDG_CONFIG_HOME": "relative"}).reference == str(at_home)
        assert find_policy(None, {**home, "AGENTFENCE_POLICY": ""}).reference == str(at_home)

    def test_without_any_the_built_in_one_is_used_never_the_working_folders(self, tmp_path, monkeypatch):
        write(tmp_path / "policy.yaml")
        write(tmp_path / "agentfence" / "policy.yaml")
        monkeypatch.chdir(tmp_path)
        found = find_policy(None, {"HOME": str(tmp_path / "nobody"), "XDG_CONFIG_HOME": "."})

        assert found == FoundPolicy("agentfence:default", "built in")
        assert found.description == "agentfence:default (built in)"
        assert find_policy(None, {}).reference == "agentfence:default"

    def test_users_own_policy_that_cannot_be_read_is_not_passed_over(self, tmp_path):
        own = tmp_path / ".config" / "agentfence" / "policy.yaml"
        own.parent.mkdir(parents=True)
        own.symlink_to("nowhere.yaml")
        found = find_policy(None, {"HOME": str(tmp_path)})

        with pytest.raises(PolicyError):
            load_policy(found, {})

    def test_folder_that_cannot_be_looked_into_is_not_passed_over(self, tmp_path):
        folder = tmp_path / ".config" / "agentfence"
        folder.parent.mkdir()
        folder.symlink_to("agentfence")
        found = find_policy(None, {"HOME": str(tmp_path)})

        with pytest.raises(PolicyError):
            load_policy(found, {})

    def test_file_in_the_place_of_the_folder_is_no_policy(self, tmp_path):
        write(tmp_path / ".config" / "agentfence", "")

        assert find_policy(None, {"HOME": str(tmp_path)}).reference == "agentfence:default"

    def test_empty_option_is_a_usage_error(self):
        with pytest.raises(UsageError):
            find_policy("", {})


class TestReading:
    def test_packaged_policy_in_a_folder_that_is_gone(self, tmp_path, monkeypatch):
        folder = tmp_path / "gone"
        folder.mkdir()
        monkeypatch.chdir(folder)
        folder.rmdir()

        with pytest.raises(PolicyError) as caught:
            load("agentfence:default")
        assert "is gone" in render_text(caught.value.problems)

    def test_missing_file_is_a_policy_error(self, tmp_path):
        path = tmp_path / "no.yaml"

        assert message_of(path) == f"{path}:1:1: cannot read the policy: no such file or directory"
        assert "cannot read the policy" in message_of(tmp_path)
        assert "cannot read the policy" in message_of("a\0b")

    def test_file_that_is_too_large_is_not_read_to_its_end(self):
        assert "expected at most" in message_of("/dev/zero")

    def test_tilde_means_the_home_folder(self, tmp_path, monkeypatch):
        write(tmp_path / "p.yaml")
        monkeypatch.setenv("HOME", str(tmp_path))

        assert load("~/p.yaml").file == "~/p.yaml"

    def test_roots_begin_at_the_folder_of_the_file(self, tmp_path, monkeypatch):
        rule = "{decision: allow, constraints: {paths: {roots: [., '~', '${X}']}}}"
        path = write(tmp_path / "sub" / "p.yaml", f"{MINIMAL}tools: {{t: {rule}}}")
        monkeypatch.chdir(tmp_path / "sub")
        for reference in (path, "p.yaml", "../sub/p.yaml"):
            policy = load(reference, HOME="/home/me", X="/x")
            places = [root.place for root in policy.tools.find(None, "t").constraints[0].roots]
            assert places == [(tmp_path / "sub").resolve().as_posix(), "/home/me", "/x"]

    def test_links_are_followed_by_default_only_where_the_surface_says(self, tmp_path):
        path = write(
            tmp_path / "p.yaml", MINIMAL + "tools: {t: {decision: allow, constraints: {paths: {roots: [.]}}}}"
        )
        for follows in (True, False):
            policy = load_policy(FoundPolicy(str(path), ""), {}, follow_links_default=follows)
            assert policy.tools.find(None, "t").constraints[0].follow_links is follows


def test_relative_path_says_where_it_was_looked_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    assert help_of("nowhere.yaml") == f"it was looked for in `{tmp_path}`; a full path is found from anywhere"
    assert help_of(str(tmp_path / "nowhere.yaml")) is None
    assert help_of("agentfence:nowhere") is None
    (tmp_path / "folder.yaml").mkdir()
    assert help_of("folder.yaml") is None


def test_relative_path_in_a_folder_that_is_gone_says_so(tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()

    assert help_of("nowhere.yaml") == "the working folder, where its paths begin, is gone"


def help_of(reference):
    with pytest.raises(PolicyError) as raised:
        load_policy(FoundPolicy(reference, "as given"), {})
    return raised.value.problems[0].help


class TestImports:
    def test_file_beside_and_below_can_be_imported(self, tmp_path):
        root = write(tmp_path / "root.yaml", MINIMAL + "imports: [a.yaml, ./sub/b.yaml]")
        write(tmp_path / "a.yaml", MINIMAL + "tools: {a: allow}")
        write(tmp_path / "sub" / "b.yaml", MINIMAL + "imports: [c.yaml]\ntools: {b: allow}")
        write(tmp_path / "sub" / "c.yaml", MINIMAL + "tools: {c: allow}")
        policy = load(root)

        assert [str(policy.tools.find(None, tool).place) for tool in "abc"] == [
            f"{tmp_path}/a.yaml:2:9",
            f"{tmp_path}/sub/b.yaml:3:9",
            f"{tmp_path}/sub/c.yaml:2:9",
        ]

    @pytest.mark.parametrize(
        "reference",
        [
            "../outside.yaml",
            "sub/../../outside.yaml",
            "link.yaml",
            "linked/outside.yaml",
            "{outside}",
            "/etc/passwd",
            "\\\\\\\\host\\\\share",
            "",
            ".",
            "sub",
            "no.yaml",
            "a\\0b",
            "agentfence:",
            "agentfence:../default",
            "agentfence:nope",
            "agentfence:DEFAULT",
        ],
    )
    def test_nothing_else_can_be_imported(self, tmp_path, reference):
        outside = write(tmp_path / "outside.yaml")
        folder = tmp_path / "policies"
        (folder / "sub").mkdir(parents=True)
        (folder / "link.yaml").symlink_to(outside)
        (folder / "linked").symlink_to(tmp_path)
        root = write(folder / "root.yaml", f'{MINIMAL}imports: ["{reference.format(outside=outside)}"]')

        found = message_of(root)
        assert ":2:11: " in found
        assert "cannot import" in found or "empty text" in found

    def test_link_inside_the_folder_is_fine(self, tmp_path):
        write(tmp_path / "real.yaml", MINIMAL + "tools: {a: allow}")
        (tmp_path / "link.yaml").symlink_to("real.yaml")
        root = write(tmp_path / "root.yaml", MINIMAL + "imports: [link.yaml]")

        assert load(root).tools.find(None, "a")

    def test_policy_that_is_itself_a_link_imports_from_where_it_really_is(self, tmp_path):
        root = write(tmp_path / "dotfiles" / "root.yaml", MINIMAL + "imports: [a.yaml]")
        write(tmp_path / "dotfiles" / "a.yaml", MINIMAL + "tools: {a: allow}")
        (tmp_path / "policy.yaml").symlink_to(root)

        assert load(tmp_path / "policy.yaml").tools.find(None, "a")

    def test_circle_through_a_link_is_found(self, tmp_path):
        root = write(tmp_path / "root.yaml", MINIMAL + "imports: [link.yaml]")
        (tmp_path / "link.yaml").symlink_to(root)

        assert "`link.yaml` imports itself: `root.yaml` → `root.yaml`" in message_of(root)

    def test_circle_is_shown_as_it_goes(self, tmp_path):
        root = write(tmp_path / "root.yaml", MINIMAL + "imports: [a.yaml]")
        write(tmp_path / "a.yaml", MINIMAL + "imports: [sub/b.yaml]")
        (tmp_path / "sub").mkdir()
        (tmp_path / "sub" / "c.yaml").symlink_to(tmp_path / "a.yaml")
        write(tmp_path / "sub" / "b.yaml", MINIMAL + "imports: [b.yaml]")

        assert "`b.yaml` imports itself: `sub/b.yaml` → `sub/b.yaml`" in message_of(root)

    @pytest.mark.parametrize(
        ("make", "why"),
        [
            (lambda path: path.mkdir(), "it is a folder"),
            (os.mkfifo, "it is no regular file"),
            (lambda path: path.symlink_to(path), "too many levels of symbolic links"),
            (lambda path: path.symlink_to("nowhere"), "there is no such file"),
        ],
        ids=["a folder", "a pipe", "a link to itself", "a link to nowhere"],
    )
    def test_what_is_no_file_is_said(self, tmp_path, make, why):
        root = write(tmp_path / "root.yaml", MINIMAL + "imports: [a.yaml]")
        make(tmp_path / "a.yaml")

        assert f"cannot import `a.yaml`: {why}" in message_of(root)

    def test_packaged_policy_can_be_imported(self, tmp_path):
        root = write(
            tmp_path / "root.yaml", MINIMAL + 'imports: ["agentfence:default"]\ntools: {get_me: deny}'
        )
        policy = load(root)

        assert policy.tools.find(None, "get_me").decision == "deny"
        assert str(policy.tools.find(None, "get_you").place).startswith("agentfence:default:")
        assert policy.default.decision == "deny"

    def test_relative_imports_of_a_packaged_policy_never_come_from_the_working_folder(
        self, tmp_path, monkeypatch
    ):
        write(tmp_path / "packaged" / "base.yaml", MINIMAL + "imports: [more.yaml]")
        write(tmp_path / "packaged" / "more.yaml", MINIMAL + "tools: {a: deny}")
        write(tmp_path / "more.yaml", MINIMAL + "tools: {a: allow}")
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(policy_files, "packaged_folder", lambda: tmp_path / "packaged")

        assert load("agentfence:base").tools.find(None, "a").decision == "deny"


def test_policies_of_a_wheel_lie_inside_the_package(tmp_path, monkeypatch):
    (tmp_path / "agentfence" / "policies").mkdir(parents=True)
    monkeypatch.setattr(policy_files, "__file__", str(tmp_path / "agentfence" / "policy_files.py"))

    assert packaged_folder() == str(tmp_path / "agentfence" / "policies")


def test_loading_the_built_in_policy_imports_nothing_heavy():
    heavy = ("mitmproxy", "rich", "jsonschema", "re2", "can_ada", "tree_sitter", "difflib")
    code = (
        "import sys; from agentfence.policy_files import find_policy, load_policy\n"
        "load_policy(find_policy(None, {}), {})\n"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    root = Path(__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": str(root / "engine")}
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    )

    assert output.stdout.strip() == "[]"
