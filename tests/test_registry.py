"""Families that find their members by kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pytest

from ssiode.loss import Loss
from ssiode.registry import Configurable, build, set_fields
from ssiode.student import Student
from tests.checks import refuses


@dataclass(frozen=True)
class Shape(Configurable):
    family: ClassVar[str] = "shape"


@dataclass(frozen=True)
class Box(Shape):
    kind: ClassVar[str] = "box"
    width: float = 1.0
    marks: tuple[tuple[float, ...], ...] | None = None


@dataclass(frozen=True)
class Abstract(Shape):
    size: float = 1.0


@dataclass(frozen=True)
class Point(Shape):
    kind: ClassVar[str] = "point"


def test_members_are_found_by_kind():
    assert Shape.members == {"box": Box, "point": Point}
    assert Shape.from_table({"kind": "box", "width": 2.0}) == Box(2.0)
    assert "box" not in Student.members
    assert set(Loss.members) == {"squared", "frobenius"}


def test_tables_round_trip_without_what_is_none():
    box = Box(2.0, ((1.0, 2.0), (3.0, 4.0)))
    table = box.to_table()
    assert table == {"kind": "box", "width": 2.0, "marks": [[1.0, 2.0], [3.0, 4.0]]}
    assert Box().to_table() == {"kind": "box", "width": 1.0}
    assert set_fields(Point()) == {}


@pytest.mark.parametrize(
    ("table", "parts"),
    [
        ({}, ["unknown shape ''", "box, point"]),
        ({"kind": "bx"}, ["did you mean 'box'?"]),
        ({"kind": ["box"]}, ["unknown shape"]),
        ({"kind": None}, ["unknown shape"]),
        ({"kind": "box", "widht": 1}, ["key of shape 'box'", "did you mean 'width'?"]),
        ({"kind": "box", "kinds": 1}, ["allowed: marks, width"]),
        ({"kind": "point", "x": 1}, ["allowed: none"]),
        ({"kind": "box", 3: 1}, ["'3'"]),
        ({"kind": "abstract"}, ["unknown shape"]),
    ],
)
def test_unknown_kinds_and_keys_are_refused(table, parts):
    refuses(lambda: Shape.from_table(table), *parts)


def test_missing_fields_are_refused_in_one_line():
    @dataclass
    class Needs:
        first: int

    refuses(lambda: build(Needs, "thing", {}), "thing", "first")


def test_the_table_is_not_changed():
    table = {"kind": "box", "width": 2.0}
    Shape.from_table(table)
    assert table == {"kind": "box", "width": 2.0}
