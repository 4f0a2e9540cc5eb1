"""Imports: a table of merged documents, and what cannot be imported."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from policies_in_memory import FOLDER, file_of, load_texts

from agentfence.core.errors import PolicyError
from agentfence.core.policy.imports import ImportRefusedError, resolve
from agentfence.core.policy.nodes import plain_table

CASES = yaml.safe_load((Path(__file__).parents[2] / "cases" / "policy" / "imports.yaml").read_text())


def resolved(files):
    def load(reference, importer):
        name = reference
        if name not in files:
            raise ImportRefusedError("there is no such file")
        return file_of(name, files[name])

    return resolve(file_of("root.yaml", files["root.yaml"]), load)


def texts(files):
    return {name: yaml.safe_dump({"version": "1", **content}) for name, content in files.items()}


def problem_of(files):
    with pytest.raises(PolicyError) as caught:
        load_texts(files)
    (problem,) = caught.value.problems
    return f"{problem.place} {problem.code}"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_files_are_merged(case):
    document = resolved(texts(case["files"]))

    assert case["document"] == plain_table(document.table.without("version", "imports"))


def test_digest_is_blind_to_layout_comments_and_order():
    alone = load_texts(
        {"root.yaml": 'version: "1"\ntools: {a: allow, b: {decision: ask}}\ngroups: {g: [x, y]}\n'}
    )
    split = load_texts(
        {
            "root.yaml": "# a comment\nimports: [b.yaml]\ngroups: {g: [x, y]}\nversion: 1\nx-own: 5\n"
            "tests: [{id: t, tool: a, expect: allow}]",
            "b.yaml": 'version: "1"\ntools: {b: ask, a: allow}',
        }
    )

    assert alone.policy.digest == split.policy.digest
    assert alone.policy.digest.startswith("sha256:")
    assert len("sha256:") + 64 == len(alone.policy.digest)


@pytest.mark.parametrize(
    "changed",
    [
        'version: "1"\ntools: {a: deny}\ngroups: {g: [x, y]}',
        'version: "1"\ntools: {a: allow}\ngroups: {g: [y, x]}',
        'version: "1"\ntools: {a: allow}\ngroups: {g: [x, y]}\nmode: observe',
        'version: "1"\ntools: {a: {decision: allow, message: m}}\ngroups: {g: [x, y]}',
    ],
)
def test_digest_tells_what_may_mean_something_else(changed):
    policy = load_texts({"root.yaml": 'version: "1"\ntools: {a: allow}\ngroups: {g: [x, y]}'}).policy

    assert policy.digest != load_texts({"root.yaml": changed}).policy.digest


def test_problem_is_shown_in_the_file_where_it_stands():
    files = {"root.yaml": 'version: "1"\nimports: [a.yaml]', "a.yaml": 'version: "1"\ntols: {}'}

    assert problem_of(files) == "a.yaml:2:1 unknown_key"
    files["a.yaml"] = 'version: "1"\ntools: {a: {decision: deny, otherwise: ask}}'
    assert problem_of(files) == "a.yaml:2:29 useless_otherwise"


def test_rule_of_an_imported_file_knows_its_place():
    files = {"root.yaml": 'version: "1"\nimports: [a.yaml]', "a.yaml": 'version: "1"\ntools: {a: allow}'}

    assert str(load_texts(files).policy.tools.find(None, "a").place) == "a.yaml:2:9"


def test_imports_go_three_levels_deep_and_no_further():
    files = {f"{level}.yaml": f'version: "1"\nimports: [{level + 1}.yaml]' for level in range(1, 6)}
    files |= {"root.yaml": 'version: "1"\nimports: [1.yaml]', "3.yaml": 'version: "1"'}

    assert load_texts(files)
    files["3.yaml"] = 'version: "1"\nimports: [4.yaml]'
    files["4.yaml"] = 'version: "1"'
    assert problem_of(files) == "3.yaml:2:11 import_too_deep"


@pytest.mark.parametrize("circle", ["root.yaml", "a.yaml"])
def test_circles_are_refused(circle):
    files = {"root.yaml": 'version: "1"\nimports: [a.yaml]', "a.yaml": f'version: "1"\nimports: [{circle}]'}

    assert problem_of(files) == "a.yaml:2:11 import_cycle"


def test_many_imports_are_bounded():
    files = {
        "root.yaml": f'version: "1"\nimports: [{", ".join(["a.yaml"] * 20)}]',
        "a.yaml": f'version: "1"\nimports: [{", ".join(["b.yaml"] * 20)}]',
        "b.yaml": 'version: "1"',
    }

    assert problem_of(files).split()[1] == "import_too_many"


def test_missing_file_is_shown_at_the_reference():
    assert (
        problem_of({"root.yaml": 'version: "1"\nimports:\n  - nope.yaml'}) == "root.yaml:3:5 import_refused"
    )


@pytest.mark.parametrize(("root", "other"), [("1", "0.1"), ("0.1", "1")])
def test_policies_of_two_languages_do_not_mix(root, other):
    files = {"root.yaml": f'version: "{root}"\nimports: [a.yaml]', "a.yaml": f'version: "{other}"'}

    assert problem_of(files) == "root.yaml:2:11 import_other_version"


@pytest.mark.parametrize("folder", ["~", "~/a", "${HOME}", "a/${HOME}", r"a\b", "a%2e", "C:"])
def test_folder_whose_name_means_something_in_a_root_is_refused(folder):
    files = {
        "root.yaml": f"version: '1'\nimports: ['{folder}/t.yaml']",
        f"{folder}/t.yaml": 'version: "1"\ntools: {a: {decision: allow, constraints: {paths: {roots: ["."]}}}}',
    }

    assert problem_of(files) == "root.yaml:2:11 import_refused"


def test_folder_with_wildcards_in_its_name_is_itself():
    files = {
        "root.yaml": "version: '1'\nimports: ['app/[id]*/t.yaml']",
        "app/[id]*/t.yaml": 'version: "1"\nresources: {"file:secret/**": deny, "**": allow}',
    }
    (secret, _) = load_texts(files).policy.resources

    assert secret.matches.matches(f"file://{FOLDER}/app/[id]*/secret/x")
    assert not secret.matches.matches(f"file://{FOLDER}/app/ix/secret/x")
