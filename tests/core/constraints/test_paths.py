"""Paths: the tables, the properties that no path may break, and bad blocks."""

from __future__ import annotations

import posixpath
import re
import sys
import unicodedata
from pathlib import Path
from urllib.parse import unquote

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agentfence.core.constraints import path_text, paths
from agentfence.core.constraints.fields import text_readings
from agentfence.core.constraints.globs import literal_pattern
from agentfence.core.constraints.interface import BuildContext, Circumstances, SpecError
from agentfence.core.constraints.path_globs import is_pattern
from agentfence.core.constraints.path_rewriting import rewritings
from agentfence.core.constraints.path_text import Host, Refused, read_path
from agentfence.core.constraints.paths import build
from agentfence.disk import resolve_links

FOLDER = Path(__file__).parents[2] / "cases" / "paths"
BLOCKS = [block for file in sorted(FOLDER.glob("*.yaml")) for block in yaml.safe_load(file.read_text())]
CASES = [
    pytest.param(block, case, id=f"{block['name']}-{case.get('arguments', case.get('value'))!a}")
    for block in BLOCKS
    for case in block["cases"]
]


def resolver_of(links):
    def resolve(path):
        target = links.get(path, path if ".." not in path else posixpath.normpath(path))
        if target == "ERROR":
            raise OSError("too many levels of links")
        return target

    return resolve


@pytest.mark.parametrize(("block", "case"), CASES)
def test_path_is_judged_as_the_table_says(block, case):
    constraint = build(block["spec"], BuildContext(**block.get("context", {})))
    links = block.get("links")
    circumstances = Circumstances(resolve_links=None if links is None else resolver_of(links))
    arguments = case["arguments"] if "arguments" in case else {"path": case["value"]}

    failure = constraint.check(arguments, circumstances)

    assert case["expect"] == ("allow" if failure is None else failure.code)


def test_a_quarter_of_the_table_is_honest():
    honest = [case for block in BLOCKS for case in block["cases"] if case["expect"] == "allow"]

    assert len(honest) >= sum(len(block["cases"]) for block in BLOCKS) / 4


@pytest.mark.parametrize(("block", "case"), CASES)
def test_reason_holds_no_value(block, case):
    constraint = build(block["spec"], BuildContext(**block.get("context", {})))
    failure = constraint.check(case.get("arguments", {"path": case.get("value")}), Circumstances())

    value = case.get("value")
    if failure is not None and isinstance(value, str) and len(value) > 3 and value not in str(block["spec"]):
        assert value not in failure.reason


def test_only_the_allow_list_leaves_room_for_asking():
    constraint = build({"roots": ["/w"], "allow": ["docs/**"], "deny": ["docs/x"]}, BuildContext())

    assert constraint.check({"path": "src/a"}, Circumstances()).allow_list is True
    for path in ("/etc/passwd", "docs/x", "docs/../../x", "~/x"):
        assert constraint.check({"path": path}, Circumstances()).allow_list is False
    assert constraint.check({"path": ["src/a", "/etc/passwd"]}, Circumstances()).allow_list is False


def test_lookalikes_are_all_that_unicode_has():
    beyond_ascii = "".join(map(chr, [*range(0x80, 0xD800), *range(0xE000, sys.maxunicode + 1)]))
    expected = {
        character
        for character in beyond_ascii
        if not {".", "/", "\\", ":"}.isdisjoint(unicodedata.normalize("NFKC", character))
    }
    best_fit_of_windows = set("\u2044\u2215\u2216\u2236")

    assert expected | best_fit_of_windows == set(path_text._LOOKALIKE.findall(beyond_ascii))


PIECES = (
    ".. . / \\ // %2e %2f %5c %252e % 2e a work project secrets /work/project /work/project/ \uff0e \uff0f "
    "\u2025 \0 : ~ S \u017f , c: * %c0%ae %u002e $X etc \n **/ ' \\. \\u002e ${Y} \ufeff"
)
hostile = st.lists(st.sampled_from([*PIECES.split(" "), " "]), max_size=9).map("".join)


def readings_by_others(text):
    """Spell the text in every way that a lenient server might, three rounds deep."""
    seen = {text}
    for _ in range(3):
        for known in tuple(seen):
            seen |= {
                unquote(known),
                unicodedata.normalize("NFKC", known),
                known.replace("\\", "/"),
                known.partition("\0")[0],
                known.strip().strip("\ufeff"),
                known.replace("\\u002e", "."),
                re.sub(r"['\\]", "", known),
                known.replace("**/", ""),
                known.replace("${Y}", ""),
                *known.strip("[]").split(","),
            }
    return seen


ODD_ROOTS = [
    "/work/it's",
    "/work/Smith, J",
    "/work/C#/x",
    "/work/a;b",
    "/work/{a,b}",
    "/work/In c.",
    "/work/[x]",
]


@settings(max_examples=200, deadline=None)
@given(hostile, st.sampled_from(ODD_ROOTS))
@example("/*/key", "/work/[x]")
@example("/x',/etc/passwd", "/work/it's")
def test_a_root_with_signs_in_its_name_opens_no_more_than_one_without(text, odd):
    plain = "/plain" * odd.count("/")
    judged = [
        build(
            {"roots": [root], "deny": ["secrets/**", f"{literal_pattern(root)}/key/**"]}, BuildContext()
        ).check({"path": f"{root}/{text.replace('/work/project', root)}"}, Circumstances())
        for root in (odd, plain)
    ]

    assert judged[0] is not None or judged[1] is None


PROJECT = build({"roots": ["/work/project"], "deny": ["secrets/**"]}, BuildContext())
RELATIVE = build({"deny": ["secrets/**"]}, BuildContext())


@settings(max_examples=200, deadline=None)
@given(hostile)
@example("/work/project/%2e%2e/x")
@example("/work/project/a\\b/../../x")
def test_no_path_that_passes_leaves_its_root_in_any_reading(text):
    if PROJECT.check({"path": text}, Circumstances()) is None:
        for reading in readings_by_others(text):
            place = posixpath.normpath(posixpath.join("/work/project", reading))

            assert place == "/work/project" or place.startswith("/work/project/")
            assert not (place + "/").casefold().startswith("/work/project/secrets/")


@settings(max_examples=200, deadline=None)
@given(hostile)
def test_no_path_that_passes_without_roots_is_absolute_or_climbs(text):
    if RELATIVE.check({"path": text}, Circumstances()) is None:
        for reading in readings_by_others(text):
            place = posixpath.normpath(reading)

            assert not f"{place}/".startswith(("/", "../"))
            assert not (place + "/").casefold().startswith("secrets/")


@settings(max_examples=200, deadline=None)
@given(hostile)
def test_adding_a_deny_pattern_never_allows_more(text):
    stricter = build({"roots": ["/work/project"], "deny": ["secrets/**", "a*"]}, BuildContext())

    if PROJECT.check({"path": text}, Circumstances()) is not None:
        assert stricter.check({"path": text}, Circumstances()) is not None


@settings(max_examples=200, deadline=None)
@given(
    st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists, max_leaves=5)
)
@example("\ud800")
def test_any_json_value_gives_a_verdict(value):
    for constraint in (PROJECT, RELATIVE):
        constraint.check({"path": value}, Circumstances(resolve_links=lambda path: path))


@settings(max_examples=200, deadline=None)
@given(st.text("ab.-_ ()é\u0301\u2024⒈/[]{}#@", max_size=12), st.sampled_from([Host.POSIX, Host.UNKNOWN]))
@example("/a/⒈", Host.POSIX)
@example("-a", Host.POSIX)
def test_the_short_way_for_plain_paths_agrees_with_the_long_one(text, host):
    if path_text._is_plain(text):
        path_text._refuse_danger(text, host)

        assert read_path(text, host) == ((path_text.simplify(text), text),)


@settings(max_examples=500, deadline=None)
@given(
    st.text('ab1_.- /#@=+&^,;[]{}()*?!~$%:\\"\t\né\u0661', max_size=10),
    st.sampled_from([Host.POSIX, Host.UNKNOWN]),
)
@example("/a/b-c. d/..e", Host.POSIX)
@example("a/[b]", Host.UNKNOWN)
@example("a" * (path_text.LONGEST + 1), Host.POSIX)
def test_a_text_that_is_a_single_path_has_one_reading_and_stands_for_nothing_else(text, host):
    if path_text.is_single(text):
        assert text_readings(text) == (text,)
        assert rewritings(text, host) == ()
        assert not is_pattern(text)
        assert read_path(text, host) == ((text, text),)


LISTED = build(
    {
        "fields": ["path", "paths"],
        "roots": ["/work/project", "/tmp"],
        "allow": ["docs/**", "a*"],
        "deny": ["**/.env"],
    },
    BuildContext(),
)
inside = st.text("abs. /-_(*éA", max_size=12).map("/work/project/".__add__)
named = st.sampled_from(
    ["/work/project/docs/a", "/tmp/a/.ENV", "/work/project/Secrets/key", "/work/project-evil/a", ""]
)
present = st.none() | inside | hostile | named | st.lists(inside | named, max_size=2) | st.integers()


@settings(max_examples=500, deadline=None)
@given(st.dictionaries(st.sampled_from(["path", "paths", "Path", "other"]), present))
def test_the_short_way_for_usual_calls_judges_as_the_long_one(arguments):
    constraints = (PROJECT, RELATIVE, LISTED)
    quickly = [each.check(arguments, Circumstances()) for each in constraints]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paths, "is_single", lambda _: False)
        slowly = [each.check(arguments, Circumstances()) for each in constraints]

    assert slowly == quickly


@pytest.mark.parametrize(
    "text",
    [
        "a/" * 16_000,
        "%41" * 10_000,
        "%%41" * 8_000,
        "a," * 16_000,
        "../" * 10_000,
        "*?[a]" * 6_000,
        "{a,b}/" * 60,
        "{" + "..a" * 10_000,
        "[a" * 16_000,
        "[" * 30_000,
        "\uff0ea" * 10_000,
        "é/" * 16_000,
        "x" * 5_000_000,
        "a." * 16_000,
        ". " * 16_000,
        "%" * 32_000,
        "['" * 10_000,
        "[" + "'a'," * 250 + "]",
        "**" * 16_000 + "/..",
        "${a-" * 8_000,
        "`a" * 16_000,
        "!" + "a" * 32_000,
        "\\x41" * 8_000,
        "a\u200b" * 16_000,
        "&a" * 16_000,
        "{a,b}" * 5 + "é$x'y&amp;z" + "é" * 32_000,
        "\u200bé$x'y&amp;%41\\z" + "é" * 32_000,
        "&#" + "9" * 5_000,
        "{a,b}" * 5 + ",c\\d" * 200,
        ",".join(f"a$x'{{b,c}}{number}" for number in range(250)),
    ],
    ids=lambda text: text[:6],
)
def test_hostile_path_takes_little_time(text, benchmark_seconds):
    constraint = build(
        {"roots": ["/work/project"], "deny": ["secrets/**", "**/.env*", "**/x*/y*/**"], "allow": ["src/**"]},
        BuildContext(),
    )

    assert benchmark_seconds(lambda: constraint.check({"path": text}, Circumstances())) < 10


@pytest.fixture
def benchmark_seconds():
    import time

    def measure(function):
        started = time.process_time()
        function()
        return time.process_time() - started

    return measure


@pytest.mark.parametrize(
    ("spec", "context", "path", "says"),
    [
        ({"fields": []}, {}, ("fields",), "empty"),
        ({"fields": ["a", "b..c"]}, {}, ("fields", 1), "expected a field"),
        ({"roots": []}, {}, ("roots",), "empty"),
        ({"roots": ["/w"], "allow": []}, {}, ("allow",), "empty"),
        ({"roots": ["/w"], "deny": []}, {}, ("deny",), "empty"),
        ({"roots": ["/w"], "deny": ["a", "["]}, {}, ("deny", 1), "without its"),
        ({"roots": ["/w"], "deny": [""]}, {}, ("deny", 0), "empty"),
        ({"roots": ["/w"], "deny": ["~/.ssh/**"]}, {}, ("deny", 0), "no path has the form"),
        ({"roots": ["/w"], "deny": ["${HOME}/x"]}, {}, ("deny", 0), "no path has the form"),
        ({"roots": ["/w"], "allow": ["../x"]}, {}, ("allow", 0), "no path has the form"),
        ({"roots": ["/w"], "allow": ["a/./b"]}, {}, ("allow", 0), "no path has the form"),
        ({"roots": ["/w"], "allow": ["a//b"]}, {}, ("allow", 0), "no path has the form"),
        ({"roots": ["~/x"]}, {}, ("roots", 0), "home folder is not known"),
        ({"roots": ["~other/x"]}, {"home": "/home/me"}, ("roots", 0), "expected a folder"),
        ({"roots": ["/w", "${NOT_SET}/x"]}, {}, ("roots", 1), "`${NOT_SET}` is not set"),
        ({"roots": ["${EMPTY}"]}, {"environment": {"EMPTY": ""}}, ("roots", 0), "is not set"),
        ({"roots": [""]}, {}, ("roots", 0), "expected a folder"),
        ({"roots": ["/a\nb"]}, {}, ("roots", 0), "expected a folder"),
        ({"roots": ["/a\\b"]}, {}, ("roots", 0), "expected a folder"),
        ({"roots": ["/w", "C:\\w"]}, {}, ("roots",), "mix Windows"),
        ({"follow_links": True}, {}, ("follow_links",), "there are none"),
    ],
)
def test_block_that_cannot_be_compiled_says_where_and_why(spec, context, path, says):
    with pytest.raises(SpecError) as caught:
        build(spec, BuildContext(**context))

    assert path == caught.value.path
    assert says in caught.value.message


@pytest.mark.parametrize(
    ("root", "inside"),
    [
        (".", "/policies/x"),
        ("sub/../data", "/policies/data/x"),
        ("../data", "/data/x"),
        ("~", "/home/me/x"),
        ("~/work/", "/home/me/work/x"),
        ("${WORK}/project", "/srv/work/project/x"),
        ("/work//project/./", "/work/project/x"),
    ],
)
def test_root_is_found_from_the_policys_folder_home_and_environment(root, inside):
    context = BuildContext(folder="/policies", home="/home/me", environment={"WORK": "/srv/work"})
    constraint = build({"roots": [root]}, context)

    assert constraint.check({"path": inside}, Circumstances()) is None
    assert constraint.check({"path": inside + "/../../y"}, Circumstances()) is not None


def test_links_are_followed_by_default_only_where_the_surface_says_so():
    def lead_out(path):
        return "/etc" if path == "/w/a" else path

    followed = build({"roots": ["/w"]}, BuildContext(follow_links_default=True))
    not_followed = build({"roots": ["/w"]}, BuildContext(follow_links_default=False))

    assert followed.check({"path": "a"}, Circumstances(resolve_links=lead_out)) is not None
    assert not_followed.check({"path": "a"}, Circumstances(resolve_links=lead_out)) is None


def test_links_on_a_real_disk_are_followed(tmp_path):
    project, outside = tmp_path / "project", tmp_path / "outside"
    (project / "src").mkdir(parents=True)
    outside.mkdir()
    for name, target in {
        "in": project / "src",
        "out": outside,
        "dangling": outside / "new",
        "loop": "loop",
    }.items():
        (project / name).symlink_to(target)
    constraint = build(
        {"roots": [str(project)], "deny": ["src/secret"], "follow_links": True}, BuildContext()
    )
    circumstances = Circumstances(resolve_links=resolve_links)
    expected = {
        "in/main.py": None,
        "new/file": None,
        f"{project}/in": None,
        "in/secret": "path_denied",
        "out/x": "path_not_allowed",
        "dangling": "path_not_allowed",
        "out/../other": "path_not_allowed",
        "out/../project/src/x": None,
        f"{project}/in/../../outside/x": "path_not_allowed",
        "loop": "path_unsafe",
    }

    for path, code in expected.items():
        failure = constraint.check({"path": path}, circumstances)

        assert code == (None if failure is None else failure.code), path


def test_constrained_fields_are_the_top_level_names():
    assert build({"fields": ["a.b", "c[*].d"]}, BuildContext()).constrained_fields() == ("a", "a.b", "c")
    assert build({"fields": ["**"]}, BuildContext()).constrained_fields() == ("**",)
    assert build({}, BuildContext()).kind == "paths"


def test_long_paths_are_refused_and_the_longest_possible_ones_judged():
    assert PROJECT.check({"path": "a" * 32_767}, Circumstances()) is None
    assert PROJECT.check({"path": "a" * 32_768}, Circumstances()).code == "path_unsafe"


def test_refusals_are_for_the_constraint_to_catch():
    with pytest.raises(Refused):
        read_path("~/x", Host.POSIX)
