"""Every value of tests/cases/redaction, in every dress that a log may give it."""

from __future__ import annotations

import base64
import copy
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from redaction_cases import Case, read_cases

from agentfence.core.redaction import Work, build_redactor
from agentfence.core.redaction.redactor import _is_plain
from agentfence.core.redaction.views import MOST_ESCAPES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

REDACTOR = build_redactor(builtin=True, patterns=[])
SECRETS = read_cases("secrets")
HONEST = read_cases("honest")
KINDS = [case for case in SECRETS if case.id.startswith("kind-")]

JSON_DRESSES: dict[str, Callable[[Any], str]] = {
    "json": json.dumps,
    "json of characters": lambda value: json.dumps(value, ensure_ascii=False),
    "json in json": lambda value: json.dumps({"body": json.dumps({"body": json.dumps(value)})}),
    "json string": lambda value: json.dumps(json.dumps(value)),
}
ONLY_AS_VALUES = {
    "key-full-width",
    "shape-browser-fill",
    "shape-browser-type",
    "shape-selenium",
    "shape-xpath",
} | {"shape-otp-field", "form-p-u-ssword"}
"""Those that only the value itself gives away, and not its JSON text: the bytes of a key are no word, or it is
the shape of an object that tells."""
TEXT_DRESSES: dict[str, Callable[[str], str]] = {
    "query": lambda text: f"https://h.example/?q={quote(text)}&page=2",
    "query, encoded twice": lambda text: f"https://h.example/?q={quote(quote(text))}",
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64url": lambda text: base64.urlsafe_b64encode(f"??{text}".encode()).decode().rstrip("="),
    "hex": lambda text: text.encode().hex(),
    "log line": lambda text: f"2027-01-01 ERROR ({text}), retrying",
    "markdown": lambda text: f"| a | {text} | b |\n> {text}",
}

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(), max_size=40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
WORDS = """
password token secret apiKey key Authorization cookie --token -p curl -u bob: bearer basic value is
= : " ' \\ { } [ ] , ; & % %3D %22 \\" \\n \\u0070 &quot; < > / @ :// ( ) | - . _ $ ${X}
hunter2 q9Kx71mZpp3Lvv8T 4821 4111111111111111 ghp_ sk- eyJhbGciOi AKIA cGFzc3dvcmQ9aHVudGVy 70617373
(name,password) values select ('bob', name,password |password| |---| <b> </b> set from to openssl passwd
kind: Secret data: form-data; name="password" codes: recovery 1a2b3-c4d5e q(a1b2) [[ ]] {a;b1} + "" ''' .equals( with
secrets set --value pаssword ｐａｓｓ xxxxxx abcd-efgh-ijkl-mnop "type":"password"
[REDACTED:x] [REDACTED: -----BEGIN PRIVATE -----END KEY----- é 密码
"""
PIECES = [*WORDS.split(), *" \n\t\x01\x0c\u200b\ud800", "|\n", "PRIVATE KEY", "\x1b[31m"]
texts = st.lists(st.sampled_from(PIECES), max_size=25).map("".join)


def readings(value: Any) -> Iterator[str]:
    """Give the value as a log, a terminal or a browser may show it."""
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False)):
        yield text
        yield unquote(text)
        yield text.encode("utf-8", "surrogatepass").decode("unicode_escape", "replace")


def leaves(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for key, inner in value.items():
                yield key
                yield from leaves(inner)
        case list():
            for inner in value:
                yield from leaves(inner)


def leaks(case: Case, shown: Any) -> list[str]:
    return [secret for secret in case.secrets if any(secret in reading for reading in readings(shown))]


@pytest.mark.parametrize("case", SECRETS, ids=lambda case: case.id)
class TestValuesWithSecrets:
    def test_no_secret_is_shown_and_the_rest_stays(self, case: Case) -> None:
        before = copy.deepcopy(case.value)

        shown = REDACTOR.value(case.value)

        assert set(leaks(case, before)) == set(case.secrets) != set()
        assert leaks(case, shown) == []
        assert [kept for kept in case.keeps if not any(kept in reading for reading in readings(shown))] == []
        assert case.value == before
        assert REDACTOR.value(shown) == shown

    def test_no_secret_is_shown_of_json_text(self, case: Case) -> None:
        dresses = {} if case.id in ONLY_AS_VALUES else JSON_DRESSES
        shown = {name: REDACTOR.text(dress(case.value)) for name, dress in dresses.items()}

        assert {name: found for name, text in shown.items() if (found := leaks(case, text))} == {}


@pytest.mark.parametrize("case", HONEST, ids=lambda case: case.id)
def test_honest_values_stay_as_they_are(case: Case) -> None:
    assert REDACTOR.value(case.value) == case.value
    assert REDACTOR.text(json.dumps(case.value)) == json.dumps(case.value)


def test_a_quarter_of_the_cases_at_least_is_honest() -> None:
    assert len(HONEST) * 3 >= len(SECRETS)


@pytest.mark.parametrize("case", KINDS, ids=lambda case: case.id)
def test_no_kind_of_credential_is_shown_in_any_dress(case: Case) -> None:
    shown = {name: REDACTOR.text(dress(case.value["text"])) for name, dress in TEXT_DRESSES.items()}

    assert {name: found for name, text in shown.items() if (found := leaks(case, text))} == {}
    assert [name for name, text in shown.items() if text == TEXT_DRESSES[name](case.value["text"])] == []


@given(json_values)
@settings(max_examples=100, deadline=None)
def test_any_value_is_redacted_once_for_all(value: Any) -> None:
    shown = REDACTOR.value(value)

    assert shown == REDACTOR.value(shown)


@given(texts)
@settings(max_examples=200, deadline=None)
@example('password="[REDACTED:x]hunter2"')
@example("secret: {'a': [REDACTED:x]}")
@example("password=" * 3 + "hunter2")
@example("token" + "\\" * 9 + '"' + ": " + "\\" * 9 + '"a')
@example("\x01\x01password=\x01")
@example("(password) and a,token\n1,2")
@example("password is " + "ё1" * 150)
def test_any_text_is_redacted_once_for_all(text: str) -> None:
    shown = REDACTOR.text(text)

    assert shown == REDACTOR.text(shown)


KEYS = (
    st.sampled_from(["kty", "value", "text", "d", "selector", "name", "path", "content", *PIECES[:24]])
    | texts
)
MEMBERS = st.dictionaries(KEYS, texts | texts | st.integers() | st.none() | json_values, max_size=5)


@given(MEMBERS)
@settings(max_examples=500, deadline=None)
@example({"path": "a", "number": 4111111111111111})
@example({"name": "DB_PASSWORD", "value": "hunter2"})
@example({"kty": "oct", "k": "abc"})
@example({"variable": "DB_PASSWORD", "content": "q9Kx71mZ"})
@example({"path": "src/a.py", "content": "nothing in it"})
@example({f"key {number}": "a" for number in range(200)})
def test_the_short_way_for_objects_of_texts_is_the_long_one(members: dict[str, Any]) -> None:
    REDACTOR.text("password: hunter2")  # from here on the detectors are loaded

    assert REDACTOR.value(members) == REDACTOR._value(members, {}, 0, Work())


@given(texts, st.sampled_from(KINDS), texts)
@settings(max_examples=200, deadline=None)
def test_no_text_around_a_credential_makes_it_shown(before: str, case: Case, after: str) -> None:
    secret = case.secrets[0]
    text = f"{before} {case.value['text']} {after}"

    assert secret not in REDACTOR.text(text)


class TestRecords:
    def test_a_secret_that_a_key_gives_away_is_hidden_in_all_of_the_record(self) -> None:
        shown = REDACTOR.value(
            {"note": "use q9Kx-71mZ", "password": "q9Kx-71mZ", "q9Kx-71mZ": [{"a": "(q9Kx-71mZ)"}]}
        )

        assert shown == {
            "note": "use [REDACTED:password]",
            "password": "[REDACTED:password]",
            "[REDACTED:password]": [{"a": "([REDACTED:password])"}],
        }

    def test_a_secret_that_a_text_gives_away_is_hidden_in_all_of_the_record(self) -> None:
        shown = REDACTOR.value(["TOKEN=q9Kx-71mZ", "q9Kx-71mZ?", '{"secret": "vv8T-pp3L"}', "vv8T-pp3L!"])

        assert shown == [
            "TOKEN=[REDACTED:token]",
            "[REDACTED:token]?",
            '{"secret": "[REDACTED:secret]"}',
            "[REDACTED:secret]!",
        ]

    def test_a_common_word_under_a_secret_key_stays_elsewhere(self) -> None:
        shown = REDACTOR.value({"environment": "production", "password": "production"})

        assert shown == {"environment": "production", "password": "[REDACTED:password]"}

    def test_two_keys_that_look_alike_once_redacted_both_stay(self) -> None:
        first, second = (
            case.secrets[0] for case in KINDS if case.id in {"kind-github-classic", "kind-github-oauth"}
        )

        assert REDACTOR.value({first: 1, second: 2}) == {
            "[REDACTED:github-token]": 1,
            "[REDACTED:github-token]'": 2,
        }

    def test_a_value_without_secrets_is_given_back_itself(self) -> None:
        value = {"path": "/work/a", "n": [1, True, None, 2.5]}

        assert value is REDACTOR.value(value)

    def test_a_value_nested_deeper_than_any_reader_allows_is_replaced(self) -> None:
        value: Any = "ghp_" + "q9Kx71mZ" * 5
        for _ in range(50_000):
            value = [value]

        shown = REDACTOR.value(value)

        for _ in range(150):
            shown = shown[0]
        assert "[REDACTED:too-deep]" in str(shown)

    @pytest.mark.parametrize(
        "number",
        [10**5000, -(10**5000), float("inf"), float("nan"), 1e308],
        ids=["huge", "low", "inf", "nan", "float"],
    )
    def test_a_number_that_no_reader_lets_in_does_no_harm(self, number: float) -> None:
        assert REDACTOR.value({"password": number, "pin": 1}) == {"password": "[REDACTED:password]", "pin": 1}
        assert REDACTOR.value([number, "a"])[1] == "a"
        assert REDACTOR.value({"pin": number, "key": number}).keys() == {"pin", "key"}

    def test_nested_json_that_is_deeper_than_any_reader_allows_is_text(self) -> None:
        text = "[" * 100_000 + '"password=hunter-Tr0ub4dor"' + "]" * 100_000

        assert "Tr0ub4dor" not in REDACTOR.text(text)

    def test_a_key_twice_in_nested_json_hides_both_values(self) -> None:
        shown = REDACTOR.text('{"password": "q9Kx-71mZ", "password": "vv8T-pp3L"}')

        assert shown == '{"password": "[REDACTED:password]", "password": "[REDACTED:password]"}'

    def test_nested_json_keeps_how_it_was_spelled(self) -> None:
        assert (
            REDACTOR.text('{"a":1,"token":"q9Kx-71mZ","é":2}') == '{"a":1,"token":"[REDACTED:token]","é":2}'
        )
        assert REDACTOR.text('{\n  "token": "q9Kx-71mZ"\n}') == '{\n  "token": "[REDACTED:token]"\n}'


class TestLimits:
    def test_a_text_of_secrets_without_end_is_cut(self) -> None:
        shown = REDACTOR.text("password:q9Kx71mZ\n" * 12_000)

        assert shown.startswith("password:[REDACTED:password]\npassword:[REDACTED:password]\n")
        assert shown.endswith("[REDACTED:unread]")
        assert "q9Kx" not in shown

    def test_a_picture_is_not_looked_through(self) -> None:
        picture = base64.b64encode(
            bytes((index * index * 7 + index // 3) & 255 for index in range(200_000))
        ).decode()

        assert picture == REDACTOR.text(picture)
        assert f"{picture} password=[REDACTED:password]" == REDACTOR.text(f"{picture} password=q9Kx71mZ")

    def test_a_long_file_in_base64_is_looked_through(self) -> None:
        file = base64.b64encode(b"The quick brown fox.\n" * 20_000 + b"password=q9Kx71mZ\n").decode()

        assert REDACTOR.text(file) == "[REDACTED:password]"


class TestPolicyPatterns:
    def test_a_pattern_of_the_policy_is_replaced_by_its_name(self) -> None:
        redactor = build_redactor(builtin=False, patterns=[("ticket", "TCK-[0-9]{6}")])

        assert redactor.value({"a TCK-123456": ["TCK-654321!", 1]}) == {
            "a [REDACTED:ticket]": ["[REDACTED:ticket]!", 1]
        }

    def test_without_builtins_only_the_policy_counts(self) -> None:
        redactor = build_redactor(builtin=False, patterns=[("ticket", "TCK-[0-9]{6}")])

        assert redactor.value({"password": "hunter2"}) == {"password": "hunter2"}

    def test_it_is_looked_for_in_numbers_too(self) -> None:
        redactor = build_redactor(builtin=True, patterns=[("customer", "[0-9]{8}")])

        value = {"customer": 48215739, "page": 3, "share": 0.5, "new": True, "many": [[-48215739]]}

        assert redactor.value(value) == {
            "customer": "[REDACTED:customer]",
            "page": 3,
            "share": 0.5,
            "new": True,
            "many": [["-[REDACTED:customer]"]],
        }

    def test_a_name_is_no_template(self) -> None:
        redactor = build_redactor(builtin=False, patterns=[(r"$1\1", "(a)b")])

        assert redactor.text("xabx") == r"x[REDACTED:$1\1]x"

    def test_anchors_see_each_text_alone(self) -> None:
        redactor = build_redactor(builtin=False, patterns=[("all", "^b+$")])

        assert redactor.value(["a", "bb", "ab"]) == ["a", "[REDACTED:all]", "ab"]

    def test_a_match_never_crosses_from_one_text_to_the_next(self) -> None:
        redactor = build_redactor(builtin=False, patterns=[("span", "(?s:a.*b)")])

        assert redactor.value(["a", "b", "axxb"]) == ["a", "b", "[REDACTED:span]"]

    def test_characters_beyond_ascii_are_characters(self) -> None:
        redactor = build_redactor(builtin=False, patterns=[("umlaut", "[äö]."), ("name", "(?i:straße)")])

        assert redactor.text("äüx STRAßEé") == "[REDACTED:umlaut]x [REDACTED:name]é"

    @pytest.mark.parametrize("regex", ["", "x*", "[A-Z]+", "R.*", ".", "[^a]", "REDACTED"])
    def test_a_pattern_that_matches_markers_or_nothing_changes_nothing_the_second_time(
        self, regex: str
    ) -> None:
        redactor = build_redactor(builtin=True, patterns=[("p", regex)])

        shown = redactor.text("ABC password=q9Kx71mZ xyz\nRED")

        assert shown == redactor.text(shown)

    def test_a_pattern_that_re2_refuses_is_an_error(self) -> None:
        with pytest.raises(ValueError, match="invalid"):
            build_redactor(builtin=True, patterns=[("bad", "(?=x)")])

    def test_names_are_given_even_when_redaction_is_off(self) -> None:
        redactor = build_redactor(
            builtin=True, patterns=[("a", "x+"), ("b", "y"), ("c", "z$")], enabled=False
        )

        assert redactor.names_in("xx password=q z") == ("a", "c")
        assert redactor.names_in("nothing") == ()

    def test_off_means_that_values_are_shown_raw(self) -> None:
        redactor = build_redactor(builtin=True, patterns=[("a", "x+")], enabled=False)

        assert redactor.value({"password": "xx"}) == {"password": "xx"}
        assert redactor.text("password=xx") == "password=xx"


AUTHENTICATING = """
Authorization authorization PROXY-AUTHORIZATION Cookie Set-Cookie DPoP Mcp-Session-Id Last-Event-ID X-Api-Key
x-goog-api-key X-Auth-Token Private-Token X-Amz-Security-Token CF-Access-Client-Secret X-CSRF-Token
Ocp-Apim-Subscription-Key
"""


class TestHeaders:
    @pytest.mark.parametrize("name", AUTHENTICATING.split())
    @pytest.mark.parametrize("is_enabled", [True, False])
    def test_fields_that_authenticate_are_never_shown(self, name: str, is_enabled: bool) -> None:
        redactor = build_redactor(builtin=is_enabled, patterns=[], enabled=is_enabled)

        assert [(name, f"[REDACTED:{name.lower()}]")] == redactor.headers([(name, "short")])

    def test_other_fields_are_shown_without_secrets(self) -> None:
        fields = [
            ("Accept", "*/*"),
            ("Mcp-Method", "tools/call"),
            ("Mcp-Param-Url", "https://a:q9Kx71mZ@h.example/"),
        ]

        assert REDACTOR.headers(fields) == [
            ("Accept", "*/*"),
            ("Mcp-Method", "tools/call"),
            ("Mcp-Param-Url", "https://a:[REDACTED:url-password]@h.example/"),
        ]


class TestExcerpts:
    def test_a_short_text_is_whole(self) -> None:
        assert REDACTOR.excerpt("abc", 3) == "abc"

    def test_a_long_text_ends_in_an_ellipsis(self) -> None:
        assert REDACTOR.excerpt("abcd", 3) == "abc…"

    @pytest.mark.parametrize("limit", range(60))
    def test_a_cut_never_shows_a_part_of_a_secret_or_of_a_marker(self, limit: int) -> None:
        shown = REDACTOR.excerpt("token=q9Kx71mZpp3Lvv8T, and so on, and so on", limit)

        assert "q9" not in shown
        assert shown.count("[REDACTED:") == shown.count("]")


def test_a_text_with_too_many_escapes_is_shown_as_far_as_it_was_read():
    text = "%41" * (MOST_ESCAPES + 10) + "sk_live_%34eC39HqLyjWDarjtT1zdp7dc"
    shown = REDACTOR.text(text)

    assert shown.startswith("%41" * MOST_ESCAPES)
    assert shown.removeprefix("%41" * MOST_ESCAPES) == "[REDACTED:unread]"


def test_a_value_with_more_keys_than_any_honest_one_is_not_shown():
    assert (
        REDACTOR.value({f"key{number}": [{f"name{number}": 1}] for number in range(5_001)})
        == "[REDACTED:unread]"
    )
    rows = [{"name": "a", "size": number} for number in range(20_000)]
    assert REDACTOR.value(rows) is rows


@pytest.mark.parametrize("case", [*SECRETS, *KINDS], ids=lambda case: case.id)
def test_what_is_taken_for_plain_words_or_a_path_holds_no_secret(case: Case) -> None:
    """The detectors are loaded when a text first needs them, so what needs none must hold none."""
    detectors = build_redactor(builtin=True, patterns=[])
    detectors.text("password=hunter2")  # from now on each text is looked through

    for leaf in leaves(case.value):
        for text in (leaf, f"/home/{leaf}", f"{leaf}/policy.yaml (as given)"):
            if _is_plain(text):
                assert detectors.text(text) == text


@pytest.mark.parametrize(
    "path",
    [
        "/home/jane/my-project/policies/default.yaml (as given)",
        "/srv/agentfence-mitmproxy/v2/policy.yaml",
        "~/work_2/p.yaml",
        "policies/default.yaml (built in)",
        "../a/b.yaml",
    ],
)
def test_a_path_loads_no_detectors(path: str) -> None:
    assert _is_plain(path)


@pytest.mark.parametrize(
    "text",
    [
        "/a/" + "AKIA" + "Q7K2X5M3V4Z6T2P7",
        "/a/" + "x" * 16 + "9",
        "user:pass@host/path",
        "a=b/c",
        "/a/mysql -p hunter2",
        "4111 1111 1111 1111",
        "/a b/" + "c" * 16 + "1",
        "/" * 300,
    ],
)
def test_what_may_hold_a_secret_is_no_plain_path(text: str) -> None:
    assert not _is_plain(text)


@pytest.mark.parametrize(
    "text", ["pin:4821", "password:12345678", "378282246310005", "/a/36148900647913", "3782-822463-10005"]
)
def test_no_short_way_shows_what_the_detectors_find(text: str) -> None:
    fresh = build_redactor(builtin=True, patterns=[])

    shown = fresh.text(text)

    assert REDACTOR.value({"a": text}) == {"a": shown}
    assert "[REDACTED:" in shown


class TestWork:
    """What one message is worth is the same for one text and for many, and what is behind is not shown."""

    @pytest.mark.parametrize(
        "unit",
        [
            "password=q9Kx71mZ ",
            "password={a:q9Kx71mZ} ",
            "password={a:q9Kx71mZ ",
            'password=\\"q9Kx71mZ\\" ',
            "authorization: Bearer q9Kx71mZ ",
            "\\u0070assword=q9Kx71mZ ",
            "cGFzc3dvcmQ9cTlLeDcxbVo= ",
            "https://u:q9Kx71mZ@h ",
        ],
    )
    @pytest.mark.parametrize("size", [1, 30_000])
    def test_no_secret_is_shown_however_many_there_are(self, unit: str, size: int) -> None:
        shown = json.dumps(REDACTOR.value([unit * size, unit + "!"]))

        assert "q9Kx71mZ" not in shown
        assert "cTlLeDcxbVo" not in shown
        assert ("[REDACTED:unread]" in shown) == (size > 1 and "{a:q9Kx71mZ " not in unit)

    def test_many_texts_of_secrets_are_shown_as_far_as_they_were_read(self) -> None:
        shown = REDACTOR.value([f"password=q9Kx71mZ{number}" for number in range(30_000)])

        assert shown[:100] == ["password=[REDACTED:password]"] * 100
        assert shown[-1] == "[REDACTED:unread]"

    def test_what_was_not_read_is_not_shown_in_keys_and_numbers_either(self) -> None:
        shown = REDACTOR.value(
            [{f"sk_live_q9Kx71mZ{number:04}": 4111111111111111} for number in range(9_000)]
        )

        assert "q9Kx" not in str(shown)
        assert "4111111111111111" not in str(shown)

    def test_values_of_one_message_share_what_it_is_worth(self) -> None:
        work, text = Work(), "password=q9Kx71mZ\n" * 12_000
        first = REDACTOR.text(text, work)
        shown = [REDACTOR.text(text, work) for _ in range(20)]

        assert first.startswith("password=[REDACTED:password]")
        assert shown[-1] == "[REDACTED:unread]"
        assert REDACTOR.value({"a": 1}, work) == "[REDACTED:unread]"
        assert REDACTOR.value({"a": 1}) == {"a": 1}

    def test_a_large_honest_text_with_one_secret_is_shown_whole(self) -> None:
        line = "2027-01-01 INFO request 12345 took 3 ms, token refreshed, see https://h.example/a%20b?q=1\n"
        shown = REDACTOR.text(line * 3_000 + "password=q9Kx71mZ")

        assert shown == line * 3_000 + "password=[REDACTED:password]"

    def test_secrets_that_were_learned_are_hidden_in_a_large_text(self) -> None:
        secrets = [f"q9Kx-71mZ{number:04}" for number in range(60)]
        shown = REDACTOR.value([{"password": secret} for secret in secrets] + [" and ".join(secrets * 500)])

        assert "q9Kx" not in str(shown)
        assert shown[-1].startswith("[REDACTED:password] and [REDACTED:password] and ")

    def test_many_keys_that_look_alike_once_redacted_all_stay(self) -> None:
        shown = REDACTOR.value({f"ghp_{number:036}": number for number in range(300)})

        assert list(shown.values()) == list(range(300))
        assert "[REDACTED:github-token]'299" in shown

    def test_a_pattern_of_the_policy_looks_no_longer_than_the_others(self) -> None:
        redactor = build_redactor(builtin=False, patterns=[("digit", "[0-9]")])
        shown = redactor.text("1 " * 100_000)

        assert shown.startswith("[REDACTED:digit] [REDACTED:digit] ")
        assert shown.endswith("[REDACTED:unread]")
        assert "1" not in shown

    def test_the_words_of_commands_are_shown_as_far_as_they_were_read(self) -> None:
        commands: Any = [["sshpass", "-p", f"q9Kx71mZ{number}"] for number in range(9_000)]

        assert REDACTOR.value(commands[:20]) == [["sshpass", "-p", "[REDACTED:password]"]] * 20
        assert "q9Kx" not in str(REDACTOR.value(commands))
