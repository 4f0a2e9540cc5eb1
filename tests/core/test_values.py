"""How values are made."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from agentfence.core.values import as_dict, field, frozen, message_value, replace, slotted

if TYPE_CHECKING:
    from pathlib import Path


@frozen
class Point:
    x: int
    y: int = 0
    tags: list[str] = field(default_factory=list)

    @property
    def sum(self) -> int:
        return self.x + self.y


@frozen
class Nothing:
    """No fields."""


@message_value
class Message:
    id: int
    text: str = ""


@slotted
class Count:
    number: int
    seen: list[int] = field(default_factory=list)


@pytest.mark.parametrize("made", [Point(1), Nothing(), Message(1), Count(1)])
def test_values_have_slots_and_nothing_else(made):
    assert not hasattr(made, "__dict__")
    assert type(made).__match_args__ == type(made).__slots__


def test_fields_come_in_order_or_by_name_and_defaults_stand_in():
    assert Point(1, 2, ["a"]) == Point(tags=["a"], y=2, x=1)
    assert (Point(1).y, Point(1).tags, Point(1, 2).sum) == (0, [], 3)


@pytest.mark.parametrize("given", [{}, {"x": 1, "z": 2}, {"y": 2}])
def test_a_field_that_is_missing_or_unknown_is_an_error(given):
    with pytest.raises(TypeError):
        Point(**given)


def test_a_default_that_is_made_anew_is_no_others():
    first, second = Count(1), Count(1)
    first.seen.append(1)

    assert second.seen == []


def test_values_are_equal_by_all_their_fields_and_their_kind():
    assert Message(1, "a") == Message(1, "a") != Message(1, "b")
    assert Message(1) != Count(1)
    assert Nothing() == Nothing() != Point(1)


@pytest.mark.parametrize("value", [Point(1, tags=()), Nothing()])
def test_a_frozen_value_is_a_key(value):
    assert {value: 1}[replace(value)] == 1


def test_a_frozen_value_never_changes():
    point = Point(1)
    with pytest.raises(AttributeError, match="`x` of Point never changes"):
        point.x = 2
    with pytest.raises(AttributeError):
        del point.x
    with pytest.raises(AttributeError):
        point.z = 2

    assert point == Point(1)


@pytest.mark.parametrize("value", [Message(1), Count(1)])
def test_what_nothing_holds_frozen_is_no_key(value):
    with pytest.raises(TypeError):
        hash(value)


def test_a_value_is_replaced_field_by_field():
    assert Message(1, "b") == replace(Message(1, "a"), text="b")
    with pytest.raises(TypeError):
        replace(Message(1), other=2)


def test_a_value_shows_its_fields():
    assert repr(Point(1, tags=["a"])) == "Point(x=1, y=0, tags=['a'])"
    assert as_dict(Message(1)) == {"id": 1, "text": ""}


def test_values_are_matched_by_position():
    match Point(1, 2):
        case Point(x, y):
            assert (x, y) == (1, 2)


def test_what_a_class_defines_itself_stays():
    @frozen
    class Alone:
        x: int

        __eq__ = object.__eq__
        __hash__ = object.__hash__

        def __repr__(self) -> str:
            return "alone"

    assert Alone(1) != Alone(1)
    assert repr(Alone(1)) == "alone"
    assert len({Alone(1), Alone(1)}) == 2


def test_an_interrupt_while_an_initializer_is_made_is_one_that_can_be_handled(tmp_path: Path) -> None:
    (tmp_path / "interrupted.py").write_text(
        "import sys\n"
        "from agentfence.core.values import _initializer, frozen\n"
        "@frozen\n"
        "class Value:\n"
        "    name: str\n"
        "def interrupt(frame, event, argument):\n"
        "    if frame.f_code.co_name == '<module>':\n"
        "        raise KeyboardInterrupt\n"
        "sys.settrace(interrupt)\n"
        "try:\n"
        "    _initializer(Value, {}, is_frozen=True)\n"
        "except KeyboardInterrupt:\n"
        "    sys.exit(7)\n"
    )

    assert subprocess.run([sys.executable, "-m", "interrupted"], cwd=tmp_path, check=False).returncode == 7
