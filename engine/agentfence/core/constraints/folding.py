"""One spelling for texts that some reader takes for the same.

Case-blind disks, normalising disks and lenient parsers see `SECRETS`, `\uff53ecrets` and
`sec\u200brets` as `secrets`; comparing folded texts sees it too.
"""

from __future__ import annotations

from unicodedata import combining, normalize

from agentfence.core.late_regex import late_regex

# Unicode's Default_Ignorable_Code_Point: HFS+ skips most of them when it compares names
# (CVE-2014-9390), and NFKC_Casefold drops them all.
_IGNORABLE = late_regex(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


# Normalising sorts each run of combining marks, at a cost that grows with its square. Unicode's own
# bound for streams is 30 (UAX #15, stream-safe text); what no writing needs is left out of a comparison.
_MOST_MARKS = 30
# All of them are among these (a test looks at each), and few texts have as many of these in a row.
_LONG_RUN = late_regex("(?:[^\\w\x00-\x7f]|[\u115f\u1160\u3164\uffa0]){31}")


def fold_text(text: str) -> str:
    """Give the text NFKC-normalised and case-folded, without invisible characters."""
    if text.isascii():
        return text.lower()
    folded = normalize("NFKC", _without_long_runs(text)).casefold()
    return normalize("NFKC", without_invisible(folded)).casefold()


def fold_name(text: str) -> str:
    """Give one spelling for all names that some reader takes for this one, which may end at NUL."""
    folded = fold_text(text.partition("\0")[0]).strip()
    # Java compares without case by upper case too, where both the dotted and the dotless i meet `i`.
    return folded.replace("i\u0307", "i").replace("\u0131", "i")


def without_invisible(text: str) -> str:
    """Give the text without the characters that nobody sees."""
    return _IGNORABLE.sub("", text)


def _without_long_runs(text: str) -> str:
    if _LONG_RUN.search(text) is None:
        return text
    kept: list[str] = []
    run = 0
    for character in text:
        run = run + 1 if combining(character) or _IGNORABLE.match(character) else 0
        if run <= _MOST_MARKS:
            kept.append(character)
    return "".join(kept)
