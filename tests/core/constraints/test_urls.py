from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from agentfence.core.constraints.interface import BuildContext, Circumstances, Failure, SpecError
from agentfence.core.constraints.urls import UrlsConstraint, build

if TYPE_CHECKING:
    from collections.abc import Iterator

CASES = Path(__file__).parents[2] / "cases" / "urls"
CODES = {"url_missing", "url_invalid", "url_file_scheme", "url_bare_ip", "url_denied", "url_not_allowed"}


def tables() -> Iterator[tuple[str, dict[str, Any]]]:
    for file in sorted(CASES.glob("*.yaml")):
        table = yaml.safe_load(file.read_text(encoding="utf-8"))
        if "cases" in table:
            yield file.stem, table


def table_cases() -> list[Any]:
    found = []
    for name, table in tables():
        constraint = build(table["urls"], BuildContext(original=table.get("original", False)))
        found.extend(pytest.param(constraint, case, id=f"{name}-{case['id']}") for case in table["cases"])
    return found


def check(constraint: UrlsConstraint, arguments: dict[str, Any]) -> Failure | None:
    return constraint.check(arguments, Circumstances())


def build_urls(**spec: Any) -> UrlsConstraint:
    return build(spec, BuildContext())


@pytest.mark.parametrize(("constraint", "case"), table_cases())
def test_url_is_judged_as_its_case_says(constraint: UrlsConstraint, case: dict[str, Any]) -> None:
    failure = check(constraint, {"url": case["url"]})

    assert case["expect"] == ("allow" if failure is None else failure.code), case["why"]
    assert failure is None or failure.field in ("url", "url[1]")
    if failure and case["url"] and failure.code != "url_denied":  # a deny pattern may be the URL itself
        assert str(case["url"]) not in failure.reason


def test_a_quarter_of_the_cases_is_honest() -> None:
    expected = [case["expect"] for _, table in tables() for case in table["cases"]]

    assert expected.count("allow") * 4 >= len(expected)


@pytest.mark.parametrize("value", [None, 1, True, {"url": "https://h.example/"}, [1], {}])
def test_argument_of_another_type_is_missing(value: Any) -> None:
    failure = check(build_urls(allow=["https://h.example/**"]), {"url": value})

    assert failure is not None
    assert failure.code == "url_missing"


def test_field_may_lie_deep_and_in_lists() -> None:
    constraint = build_urls(fields=["pages[*].link"], allow=["https://h.example/**"])

    assert (
        check(constraint, {"pages": [{"link": "https://h.example/a"}, {"link": "https://h.example/b"}]})
        is None
    )
    failure = check(
        constraint, {"pages": [{"link": "https://h.example/a"}, {"link": "https://evil.example/"}]}
    )
    assert failure is not None
    assert failure.field == "pages[*].link[1]"
    assert constraint.constrained_fields() == ("pages",)


def test_only_a_list_that_does_not_cover_may_be_asked_about() -> None:
    constraint = build_urls(allow=["https://h.example/**"], deny=["https://h.example/admin/**"])

    def is_askable(url: str) -> bool:
        failure = check(constraint, {"url": url})
        assert failure is not None
        return failure.allow_list

    assert is_askable("https://other.example/")
    assert not is_askable("https://h.example/admin/")
    assert not is_askable("https://169.254.169.254/")
    assert not is_askable("https://localhost/")
    assert not is_askable("file:///etc/passwd")
    assert not is_askable("https://u@h.example/")


def test_reason_names_field_and_pattern() -> None:
    failure = check(build_urls(deny=["evil.example"]), {"url": "https://evil.example/secret"})

    assert failure == Failure(
        "url_denied", "the URL in argument `url` is denied by pattern `evil.example`", "url"
    )


def test_metadata_service_is_named_as_such() -> None:
    failure = check(build_urls(allow=["http://**"], hosts="any"), {"url": "http://169.254.169.254/"})

    assert failure is not None
    assert "may be a metadata service" in failure.reason


def test_without_lists_hosts_alone_decide() -> None:
    constraint = build_urls(hosts="public")

    assert check(constraint, {"url": "https://h.example/"}) is None
    assert check(constraint, {"url": "https://127.0.0.1/"}) is not None


@pytest.mark.parametrize("spec", [{}, {"allow": [], "deny": []}])
def test_original_block_without_lists_checks_nothing(spec: dict[str, Any]) -> None:
    assert check(build(spec, BuildContext(original=True)), {}) is None


@pytest.mark.parametrize(
    ("spec", "path", "words"),
    [
        ({"allow": ["https://h.example/**", "h.example"]}, ("allow", 1), "has no scheme"),
        ({"deny": ["10.0.0.0/8"]}, ("deny", 0), "ranges of addresses"),
        ({"fields": ["a["]}, ("fields", 0), "expected a field"),
        ({"hosts": "private"}, ("hosts",), "expected `named`, `public`, `any` or a list"),
        ({"hosts": ["ok.example", "10.0.0.1/8"]}, ("hosts", 1), "host bits"),
        ({"hosts": ["a/b"]}, ("hosts", 0), "is no network"),
        ({"hosts": ["[fd00::]/8", "localhost:3000"]}, ("hosts", 1), "without scheme and port"),
        ({"hosts": ["127.1"]}, ("hosts", 0), "plain address"),
        (
            {"allow": ["https://*.corp.internal/**"]},
            ("allow", 0),
            "`hosts` covers no host below `corp.internal`",
        ),
        ({"allow": ["https://*.localhost/**"], "hosts": ["a.example"]}, ("allow", 0), "matches nothing"),
    ],
)
def test_bad_block_is_refused_with_its_place(
    spec: dict[str, Any], path: tuple[str | int, ...], words: str
) -> None:
    with pytest.raises(SpecError) as caught:
        build(spec, BuildContext())

    assert path == caught.value.path
    assert words in caught.value.message


@pytest.mark.parametrize("hosts", ["any", ["a.corp.internal"], ["*.corp.internal"], ["*"]])
def test_pattern_below_a_local_host_needs_hosts_that_cover_it(hosts: Any) -> None:
    constraint = build_urls(allow=["https://*.corp.internal/**"], hosts=hosts)

    assert check(constraint, {"url": "https://a.corp.internal/"}) is None


def test_kind_is_the_key_in_the_policy() -> None:
    assert build_urls().kind == "urls"


@settings(max_examples=100)
@given(
    st.recursive(
        st.none() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_any_json_value_is_judged(value: Any) -> None:
    constraint = build_urls(fields=["url", "**"], allow=["https://h.example/**"], deny=["**/x/**"])

    failure = check(constraint, {"url": value})

    assert failure is None or failure.code in CODES


@settings(max_examples=200)
@given(st.sampled_from([case["url"] for _, table in tables() for case in table["cases"]]), st.booleans())
def test_another_deny_pattern_never_allows_more(url: Any, original: bool) -> None:
    context = BuildContext(original=original)
    spec = {"allow": ["https://**", "http://**"]}
    before = check(build(spec, context), {"url": url})
    after = check(build({**spec, "deny": ["https://api.example.com/v1/**"]}, context), {"url": url})

    assert before is None or after is not None
