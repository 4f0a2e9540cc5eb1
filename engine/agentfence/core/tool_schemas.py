"""A tool's own `inputSchema` as a constraint on the calls of that tool.

Servers write these schemas, in whatever draft, and are not trusted: nothing is fetched, patterns are
RE2, and compiling and checking take a bounded number of steps. Keywords that JSON Schema does not
know are notes, as JSON Schema has it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from agentfence.core.constraints.interface import SpecError

if TYPE_CHECKING:
    from agentfence.core.constraints.interface import Arguments, Circumstances, Constraint, Failure, Json

_NO_NOTES = frozenset(
    {
        *("type", "enum", "const", "multipleOf", "maximum", "exclusiveMaximum", "minimum"),
        *("exclusiveMinimum", "maxLength", "minLength", "pattern", "maxItems", "minItems", "uniqueItems"),
        *("maxContains", "minContains", "maxProperties", "minProperties", "required"),
        *("dependentRequired", "$ref", "$dynamicRef", "$recursiveRef"),
    }
)
_TABLES = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_LISTS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_SINGLE = frozenset(
    {
        *("items", "contains", "not", "if", "then", "else", "additionalProperties", "propertyNames"),
        *("unevaluatedItems", "unevaluatedProperties"),
    }
)
_KEPT = _NO_NOTES | _TABLES | _LISTS
_MOST_PARTS: Final = 6_000
"""Schemas and keywords, notes not counted: to compile them takes some 15 microseconds each, and holds up
everything else."""
_DRAFT_4_LIMITS = (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum"))


class OwnSchema:
    """What holds calls of a tool to its own schema, once one comes: to compile one takes milliseconds.

    A schema that cannot be used holds nothing.
    """

    __slots__ = ("_constraint", "_schema", "is_unusable")

    def __init__(self, schema: str) -> None:
        """Take the schema as JSON."""
        self._schema = schema
        self._constraint: Constraint | None = None
        self.is_unusable = False
        """Whether a call came, and it turned out so."""

    @property
    def size(self) -> int:
        """How many characters the schema has."""
        return len(self._schema)

    def check(self, arguments: Arguments, circumstances: Circumstances) -> Failure | None:
        """Give where the arguments do not fit."""
        if self._constraint is None and not self.is_unusable:
            try:
                self._constraint = arguments_constraint(json.loads(self._schema))
            except SpecError:
                self.is_unusable = True
        return None if self._constraint is None else self._constraint.check(arguments, circumstances)


def arguments_constraint(schema: Json) -> Constraint:
    """Give what holds a call's arguments to the schema of its tool.

    Raises:
        SpecError: the schema cannot be used: it is none, leads elsewhere, or costs too much.

    """
    from agentfence.core.constraints.schema import compile_schema  # jsonschema costs 100 ms

    if not isinstance(schema, dict):
        raise SpecError((), "the schema is no object")
    try:
        return compile_schema(_Rewriting().rewrite(schema), is_strangers=True)
    except (RecursionError, ArithmeticError, ValueError) as error:
        if isinstance(error, SpecError):
            raise
        raise SpecError((), "the schema is too deep or costs too much") from None


class _Rewriting:
    """Gives a schema of any draft in the words of draft 2020-12, without its notes."""

    __slots__ = ("_parts_left",)

    def __init__(self) -> None:
        self._parts_left = _MOST_PARTS

    def rewrite(self, schema: Any) -> Any:
        """Give the schema anew.

        Raises:
            SpecError: it has more parts than it may.

        """
        if not isinstance(schema, dict):
            return schema
        found: dict[str, Any] = {}
        for keyword, value in schema.items():
            if keyword in _TABLES and isinstance(value, dict):
                found[keyword] = {name: self.rewrite(inner) for name, inner in value.items()}
            elif keyword in _LISTS and isinstance(value, list):
                found[keyword] = [self.rewrite(inner) for inner in value]
            elif keyword in _SINGLE and not isinstance(value, list):
                found[keyword] = self.rewrite(value)
            elif keyword in _KEPT:
                found[keyword] = value
        self._rewrite_items(schema, found)
        self._rewrite_dependencies(schema, found)
        _rewrite_limits(found)
        self._parts_left -= 1 + len(found)
        if self._parts_left < 0:
            raise SpecError((), "the schema has too many parts")
        return found

    def _rewrite_items(self, schema: dict[str, Any], found: dict[str, Any]) -> None:
        # Drafts 3 to 2019-09: a list of schemas, and `additionalItems` for those behind it.
        items = schema.get("items")
        if isinstance(items, list):
            if items:
                found["prefixItems"] = [self.rewrite(inner) for inner in items]
            if "additionalItems" in schema:
                found["items"] = self.rewrite(schema["additionalItems"])

    def _rewrite_dependencies(self, schema: dict[str, Any], found: dict[str, Any]) -> None:
        # Drafts 3 to 7: one table for both kinds.
        dependencies = schema.get("dependencies")
        if not isinstance(dependencies, dict):
            return
        required = {name: value for name, value in dependencies.items() if isinstance(value, list)}
        schemas = {name: self.rewrite(value) for name, value in dependencies.items() if name not in required}
        if required:
            found.setdefault("dependentRequired", required)
        if schemas:
            found.setdefault("dependentSchemas", schemas)


def _rewrite_limits(found: dict[str, Any]) -> None:
    for exclusive, plain in _DRAFT_4_LIMITS:  # a truth value in draft 4, which makes `minimum` exclusive
        is_exclusive = found.get(exclusive)
        if isinstance(is_exclusive, bool):
            del found[exclusive]
            if is_exclusive and plain in found:
                found[exclusive] = found.pop(plain)
