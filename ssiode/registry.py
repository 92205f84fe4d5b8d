"""Families of small configurable classes: each class registers itself under its `kind`."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from ssiode.errors import InputError, choose, unknown_name

T = TypeVar("T")


class Configurable:
    """Base of a family (students, losses): subclasses are found by the name in their `kind`.

    A direct subclass is a family; a dataclass below it with a `kind` is a member. Nothing else
    has to be edited to add a member.
    """

    family: ClassVar[str]
    kind: ClassVar[str]
    members: ClassVar[dict[str, type[Self]]]

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if "family" in cls.__dict__:
            cls.members = {}
        elif "kind" in cls.__dict__:
            cls.members[cls.kind] = cls

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> Self:
        """Build the member named by ``table["kind"]`` from the other entries.

        Raises
        ------
        InputError
            On an unknown kind, or a key that this kind does not have.
        """
        settings = dict(table)
        kind = choose(cls.family, settings.pop("kind", ""), cls.members)
        return build(cls.members[kind], f"{cls.family} {kind!r}", settings)

    def to_table(self) -> dict[str, Any]:
        """Return the entries that :meth:`from_table` takes, without those that are None."""
        return {"kind": self.kind, **set_fields(self)}


def build(kind: type[T], what: str, settings: Mapping[str, Any]) -> T:
    """Call a dataclass with settings, refusing keys that are not its fields by name."""
    names = [field.name for field in dataclasses.fields(kind) if field.init]  # type: ignore[arg-type]
    for key in settings:
        if key not in names:
            raise unknown_name(f"key of {what}", key, names or ["none"])
    try:
        return kind(**settings)
    except TypeError as error:
        raise InputError(f"{what}: {error}") from error


def set_fields(instance: Any) -> dict[str, Any]:
    """Fields of a dataclass that are not None, with tuples as lists, ready for TOML and JSON."""
    pairs = ((f.name, getattr(instance, f.name)) for f in dataclasses.fields(instance))
    return {name: plain(value) for name, value in pairs if value is not None}


def plain(value: Any) -> Any:
    """Return a setting as TOML and JSON can hold it: tuples as lists, exact numbers as text.

    >>> plain((1, np.float64(0.5)))
    [1, 0.5]
    """
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.floating):
        return float(value)
    return value if isinstance(value, str | int | float) else str(value)
