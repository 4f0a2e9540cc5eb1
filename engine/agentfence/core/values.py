"""How values are made: classes with a few named fields, and nothing to write but these.

`dataclasses` would do. But a client starts a fence for each of its servers, and there each of a
hundred classes costs a millisecond, and what `dataclasses` itself imports two dozen: most of it for
methods that are alike in all of them. Here those are shared, and only `__init__` is made anew.

Invariants:

- every class has slots for exactly its fields, `__match_args__`, equality of its fields and a representation;
- what a class defines itself stays.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, dataclass_transform

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


_FIRST = 8
"""Objects of a class that are made slowly before an `__init__` is made for more."""


class _Fresh:
    """A default that is made anew for each object."""

    def __init__(self, make: Callable[[], object]) -> None:
        self.make = make


def field(*, default_factory: Callable[[], Any]) -> Any:
    """Give a default that is made anew for each object."""
    return _Fresh(default_factory)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen[Value](cls: type[Value]) -> type[Value]:
    """Give the class of a value that never changes, and so can be a key."""
    return _made(cls, is_frozen=True)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def message_value[Value](cls: type[Value]) -> type[Value]:
    """Give the class of a value that type checkers hold frozen, and nothing at run time.

    A message takes a dozen of these on its way through the gate, and to set a field past a guard
    costs more than to set it.
    """
    return _made(cls, is_frozen=False)


@dataclass_transform(field_specifiers=(field,))
def slotted[Value](cls: type[Value]) -> type[Value]:
    """Give the class of an object whose fields change."""
    return _made(cls, is_frozen=False)


def replace[Value](value: Value, **changes: object) -> Value:
    """Give the same value with some fields changed."""
    kind = type(value)
    return kind(**({name: getattr(value, name) for name in _names(kind)} | changes))


def as_dict(value: object) -> dict[str, object]:
    """Give the fields of a value by their names."""
    return {name: getattr(value, name) for name in _names(type(value))}


def _names(kind: type) -> tuple[str, ...]:
    names: tuple[str, ...] = kind.__match_args__  # type: ignore[attr-defined]
    return names


def _made[Value](cls: type[Value], *, is_frozen: bool) -> type[Value]:
    """Give `cls` again with slots, which a class that is there cannot be given."""
    names = tuple(cls.__annotations__)
    own = {name: meant for name, meant in cls.__dict__.items() if name not in ("__dict__", "__weakref__")}
    defaults = {name: own.pop(name) for name in names if name in own}
    fixed = {"__slots__": names, "__match_args__": names, "__qualname__": cls.__qualname__}
    metaclass: Any = type(cls)  # a protocol's is not `type`
    made: type[Value] = metaclass(
        cls.__name__, cls.__bases__, _shared(names, is_frozen=is_frozen) | own | fixed
    )

    without = iter(range(_FIRST))

    def initialize(self: Any, *values: object, **named: object) -> None:
        """Make `__init__` when some objects are made: of most classes a start makes hardly any."""
        if next(without, None) is None or not _is_filled(self, defaults, values, named):
            made.__init__ = _initializer(made, defaults, is_frozen=is_frozen)  # type: ignore[method-assign]
            made.__init__(self, *values, **named)

    made.__init__ = initialize  # type: ignore[method-assign]
    return made


def _shared(names: tuple[str, ...], *, is_frozen: bool) -> dict[str, object]:
    content: Callable[[object], object] = attrgetter(*names) if names else type

    def is_equal(self: object, other: object) -> bool:
        return content(self) == content(other) if type(self) is type(other) else NotImplemented

    methods: dict[str, object] = {"__eq__": is_equal, "__hash__": None, "__repr__": _representation}
    if is_frozen:
        methods["__hash__"] = lambda self: hash(content(self))
        methods["__setattr__"] = methods["__delattr__"] = _refuse_change
    return methods


def _representation(self: object) -> str:
    content = ", ".join(f"{name}={shown!r}" for name, shown in as_dict(self).items())
    return f"{type(self).__qualname__}({content})"


def _refuse_change(self: object, name: str, *_: object) -> None:
    raise AttributeError(f"`{name}` of {type(self).__name__} never changes")


def _is_filled(
    self: object, defaults: Mapping[str, object], values: tuple[object, ...], named: Mapping[str, object]
) -> bool:
    """Set each field, slowly; not when what is given does not fit, which `__init__` says better."""
    names = _names(type(self))
    content = {**defaults, **dict(zip(names, values, strict=False)), **named}
    if len(content) != len(names) or len(values) > len(names) or not named.keys() <= {*names[len(values) :]}:
        return False
    for name, value in content.items():
        object.__setattr__(self, name, value.make() if isinstance(value, _Fresh) else value)
    return True


def _initializer(made: type, defaults: Mapping[str, object], *, is_frozen: bool) -> Callable[..., None]:
    """Give an `__init__` that sets each field: written out, as this is the quickest to run."""
    scope: dict[str, Any] = {}
    parameters, lines = ["self"], ["pass"]
    for name in _names(made):
        given = name
        parameters.append(name)
        if name in defaults:
            default = scope[f"{name}_default"] = defaults[name]
            parameters[-1] += f"={name}_default"
            if isinstance(default, _Fresh):
                given = f"{name}_default.make() if {name} is {name}_default else {name}"
        scope[f"{name}_set"] = getattr(made, name).__set__  # reaches the slot past `__setattr__`
        lines.append(f"{name}_set(self, {given})" if is_frozen else f"self.{name} = {given}")
    source = f"def __init__({', '.join(parameters)}):\n " + "\n ".join(lines)
    # Compiled before: after an interrupt inside of an `exec` of text, Python ends by SIGINT whatever follows.
    exec(compile(source, __name__, "exec"), scope)  # noqa: S102 - its names are those of a class of ours
    initializer: Callable[..., None] = scope["__init__"]
    return initializer
