"""Paths: what a target may mean."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentfence.core.http.paths import path_readings, plain_path


@pytest.mark.parametrize(
    ("target", "readings"),
    [
        ("/mcp", {"/mcp"}),
        ("/Mcp/?a=/x/../y", {"/mcp"}),
        ("/", {"/"}),
        ("", {"/"}),
        ("/a/b.c", {"/a/b.c"}),
        ("/%6Dcp", {"/%6dcp", "/mcp"}),
        ("/a;b/c", {"/a;b/c", "/a/c"}),
        ("/a//../b", {"/a/b", "/b"}),
        ("/é", {"/é"}),
        ("/%C3%A9", {"/%c3%a9", "/é"}),
        ("/..", {"/"}),
    ],
)
def test_a_target_has_these_readings(target, readings):
    assert path_readings(target) == readings


@pytest.mark.parametrize(
    ("path", "expected"), [("/Token/", "/token"), ("/a/%2e%2e/b", "/b"), ("/a;b", "/a;b"), ("//a", "/a")]
)
def test_a_servers_own_path_has_one_reading(path, expected):
    assert plain_path(path) == expected


@settings(max_examples=200)
@given(st.text(st.sampled_from("/.%;\\2feFMc?#\0é\ud800"), max_size=24))
def test_readings_are_canonical(target):
    for reading in path_readings("/" + target):
        assert reading.startswith("/")
        assert "//" not in reading
        assert not {"..", "."} & set(reading.split("/"))
        assert reading == "/" or not reading.endswith("/")


def test_a_long_path_takes_no_time():
    start = time.perf_counter()
    path_readings("/" + "%2e%2e/;;//\\" * 5_000)

    assert time.perf_counter() - start < 5
