"""Codings: each undone whole, cut, broken and over its limit."""

from __future__ import annotations

import gzip
import zlib

import brotli
import pytest
from backports import zstd
from hypothesis import given, settings
from hypothesis import strategies as st

from agentfence.core.http.codings import End, Unpacked, Unpacking, guess_coding, unpack

PLAIN = b'{"a":1}' * 500


def deflate_bare(plain):
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(plain) + packer.flush()


PACKERS = [
    pytest.param("gzip", gzip.compress, id="gzip"),
    pytest.param("deflate", zlib.compress, id="deflate"),
    pytest.param("deflate", deflate_bare, id="bare deflate"),
    pytest.param("br", brotli.compress, id="br"),
    pytest.param("zstd", zstd.compress, id="zstd"),
    pytest.param("identity", bytes, id="identity"),
]


@pytest.mark.parametrize(("coding", "pack"), PACKERS)
def test_a_coding_is_undone_up_to_the_limit(coding, pack):
    packed = pack(PLAIN)

    assert unpack(coding, packed, len(PLAIN)) == Unpacked(PLAIN, End.WHOLE)
    assert unpack(coding, packed, len(PLAIN) - 1) == Unpacked(PLAIN[:-1], End.AT_LIMIT)
    assert unpack(coding, packed, 0) == Unpacked(b"", End.AT_LIMIT)


@pytest.mark.parametrize(("coding", "pack"), PACKERS[:-1])
def test_a_cut_or_lengthened_coding_is_broken(coding, pack):
    packed = pack(PLAIN)
    cut = unpack(coding, packed[:-1], 10_000)

    assert cut is None or cut.end is End.BROKEN
    longer = unpack(coding, packed + b"junk", 10_000)
    assert longer is None or longer.end is End.BROKEN


@pytest.mark.parametrize("pack", [gzip.compress, zstd.compress])
def test_members_follow_each_other(pack):
    coding = guess_coding(pack(b"a"))
    assert coding is not None

    assert unpack(coding, pack(b"a") + pack(b"") + pack(b"b"), 9) == Unpacked(b"ab", End.WHOLE)
    assert unpack(coding, pack(b"a") * 100, 999) == Unpacked(b"a" * 64, End.AT_LIMIT)


@pytest.mark.parametrize("coding", ["quopri", "compress", "hex", "", "GZIP"])
def test_an_unknown_coding_is_none(coding):
    assert unpack(coding, PLAIN, 9) is None


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_what_is_not_of_its_kind_is_none(coding):
    assert unpack(coding, PLAIN, 9) is None


def test_a_bomb_stops_at_the_limit():
    assert unpack("zstd", zstd.compress(bytes(10**8)), 1000) == Unpacked(bytes(1000), End.AT_LIMIT)
    assert unpack("br", brotli.compress(bytes(10**7)), 1000) == Unpacked(bytes(1000), End.AT_LIMIT)


@pytest.mark.parametrize(
    ("packed", "expected"),
    [
        (gzip.compress(b"a"), "gzip"),
        (zlib.compress(b"a"), "deflate"),
        (zlib.compress(b"a", 0), "deflate"),
        (zstd.compress(b"a"), "zstd"),
        (b"\x5f\x2a\x4d\x18", "zstd"),
        (b"{}", None),
        (b"x", None),
        (b"", None),
        (b"xml", None),
    ],
)
def test_first_bytes_show_the_coding(packed, expected):
    assert guess_coding(packed) == expected


@settings(max_examples=200)
@given(st.binary(max_size=100), st.sampled_from(["gzip", "deflate", "br", "zstd"]), st.integers(0, 50))
def test_any_bytes_are_unpacked_within_the_limit(packed, coding, limit):
    unpacked = unpack(coding, packed, limit)

    assert unpacked is None or len(unpacked.content) <= limit


def unpacked(codings, packed, size=10_000):
    """What a stream in pieces of `size` bytes stands for, and whether it broke."""
    unpacking = Unpacking(codings)
    pieces = [packed[at : at + size] for at in range(0, len(packed), size)]
    return b"".join(content for piece in pieces for content in unpacking.feed(piece)), unpacking.is_broken


@pytest.mark.parametrize("size", [1, 7, 10_000])
@pytest.mark.parametrize(("coding", "pack"), PACKERS[:-1])
def test_a_stream_is_undone_as_it_comes(coding, pack, size):
    assert unpacked([coding], pack(PLAIN), size) == (PLAIN, False)
    assert unpacked(["gzip", coding], pack(gzip.compress(PLAIN)), size) == (PLAIN, False)
    assert unpacked([], PLAIN, size) == (PLAIN, False)


@pytest.mark.parametrize(("coding", "pack"), PACKERS[:-1])
def test_what_cannot_be_undone_in_a_stream_is_told(coding, pack):
    assert unpacked([coding], b"\xff" * 50)[1]
    assert unpacked([coding], pack(PLAIN) + b"\xff" * 50)[1]
    content, is_broken = unpacked([coding], pack(b"x" * 40_000_000), 100_000)
    assert len(content) <= 16_777_216
    assert is_broken


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress, zstd.compress])
def test_members_of_a_stream_follow_each_other(pack):
    coding = guess_coding(pack(b"a"))
    assert coding is not None

    assert unpacked([coding], pack(b"a") + pack(b"") + pack(b"b"), 3) == (b"ab", False)
    assert unpacked([coding], pack(b"a") * 100) == (b"a" * 64, True)
