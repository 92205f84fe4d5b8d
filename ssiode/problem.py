"""A problem: what is learned, by whom, with which loss, and how training runs."""

from __future__ import annotations

import dataclasses
import re
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ssiode.encoding import Encoding
from ssiode.errors import InputError, finite_number, shown, shown_path, unknown_name
from ssiode.geometry import Geometry
from ssiode.loss import Loss, SquaredLoss
from ssiode.registry import build, set_fields
from ssiode.row_geometry import RowGeometry
from ssiode.settings import InitialCondition, SGDSettings
from ssiode.student import Student
from ssiode.target import Target

if TYPE_CHECKING:
    from ssiode.population_risk.symbolic import SymbolicRisk

_LARGEST_FILE = 10**6
_LONG_KEY = "_." * 50  # its reading would take a time that grows with the square
_TABLES = ("target", "student", "encoding", "loss", "sgd", "initial")


@dataclass(frozen=True, eq=False)
class Problem:
    """A target, a student and an encoding, with a loss and the settings of training.

    Parameters
    ----------
    target : Target
    student : Student
    encoding : Encoding
    loss : Loss
    label_noise : float
        Variance Delta >= 0 of Gaussian noise on every label.
    sgd : SGDSettings
    initial : InitialCondition

    Raises
    ------
    InputError
        If the parts do not fit: outputs of different number, an encoding that cannot be, an
        infeasible initial overlap.

    Examples
    --------
    >>> from ssiode import Attention
    >>> problem = Problem(Target("He2(z1) + He2(z2)"), Attention("trace"), Encoding("opposite"))
    >>> problem.length, problem.geometry.rank
    (2, 2)
    """

    target: Target
    student: Student
    encoding: Encoding = field(default_factory=Encoding)
    loss: Loss = field(default_factory=SquaredLoss)
    label_noise: float = 0.0
    sgd: SGDSettings = field(default_factory=SGDSettings)
    initial: InitialCondition = field(default_factory=InitialCondition)

    def __post_init__(self) -> None:
        noise = finite_number("label_noise", self.label_noise, minimum=0)
        object.__setattr__(self, "label_noise", noise)
        self.student.kernel_parameters(self.length)
        outputs = self.student.n_outputs(self.length)
        if outputs != self.target.n_outputs:
            raise InputError(
                f"the target has {self.target.n_outputs} outputs and the student has {outputs}; "
                "choose a reduction or a list of expressions so that they are equal"
            )
        self.initial.fixed_state(self.geometry)

    @property
    def length(self) -> int:
        """Number of tokens L."""
        return self.target.length

    @cached_property
    def geometry(self) -> Geometry | RowGeometry:
        """Metric and feasible set of the sufficient statistics."""
        return self.student.geometry(self.encoding.geometry(self.length))

    @property
    def is_smooth(self) -> bool:
        """Whether target, student and loss all have all derivatives."""
        return self.target.is_smooth and self.student.is_smooth(self.length) and self.loss.is_smooth

    def initial_state(self, e: Any = None, m: Any = None) -> np.ndarray:
        """Return one start v = (e, m), shape (L + 1,), or (2 L,) for an untied network.

        It is the overlaps given here, else those of the initial condition; a random start is
        drawn from the seed.
        """
        given = e is not None or m is not None
        initial = self.initial.with_overlaps(e, m) if given else self.initial
        return initial.state(self.geometry, self.sgd.d, self.sgd.seed)

    def symbolic_risk(self) -> SymbolicRisk:
        """Return R, its gradient and V exactly, for polynomial targets and students.

        See :func:`ssiode.population_risk.symbolic.symbolic_risk`.
        """
        from ssiode.population_risk.symbolic import symbolic_risk

        return symbolic_risk(self)

    def replace(self, **changes: Any) -> Self:
        """Copy with fields, or settings of the run, changed.

        >>> from ssiode import LinearAttention
        >>> Problem(Target("z1"), LinearAttention()).replace(gamma=0.1, d=50).sgd.gamma
        0.1
        """
        own, of_run = (
            {f.name for f in dataclasses.fields(kind)} for kind in (Problem, SGDSettings)
        )
        for name in changes:
            if name not in own | of_run:
                raise unknown_name("setting", name, own | of_run)
        run = of_run & set(changes)
        if run:
            settings = {name: changes.pop(name) for name in run}
            changes["sgd"] = dataclasses.replace(changes.get("sgd", self.sgd), **settings)
        return dataclasses.replace(self, **changes)

    @classmethod
    def from_toml(cls, path: str | Path) -> Self:
        """Read a problem file.

        Raises
        ------
        InputError
            If the file cannot be read, is not TOML, or has a key that does not exist.
        """
        return cls.from_tables(read_tables(path))

    @classmethod
    def from_tables(cls, tables: Mapping[str, Any]) -> Self:
        """Build a problem from the tables of a problem file.

        >>> tables = {"target": {"expression": "z1*z2"}, "student": {"kind": "tied"}}
        >>> Problem.from_tables(tables).length
        2
        """
        for name, table in tables.items():
            if name not in _TABLES:
                raise unknown_name("table", name, _TABLES)
            if not isinstance(table, Mapping):
                raise InputError(f"[{name}] is {shown(table)}; it must be a table of keys")
        if "target" not in tables:
            raise InputError("the problem has no target; give [target] or --target")
        target = dict(tables["target"])
        noise = target.pop("label_noise", 0.0)
        return cls(
            Target.from_table(target),
            Student.from_table({"kind": "attention", **tables.get("student", {})}),
            build(Encoding, "encoding", tables.get("encoding", {})),
            Loss.from_table({"kind": "squared", **tables.get("loss", {})}),
            noise,
            build(SGDSettings, "sgd", tables.get("sgd", {})),
            build(InitialCondition, "initial", tables.get("initial", {})),
        )

    def to_tables(self) -> dict[str, dict[str, Any]]:
        """Return the tables that :meth:`from_tables` takes."""
        return {
            "target": {**self.target.to_table(), "label_noise": self.label_noise},
            "student": self.student.to_table(),
            "encoding": set_fields(self.encoding),
            "loss": self.loss.to_table(),
            "sgd": set_fields(self.sgd),
            "initial": set_fields(self.initial),
        }

    def to_toml(self, path: str | Path) -> None:
        """Write a problem file that :meth:`from_toml` reads."""
        import tomli_w

        text = tomli_w.dumps(self.to_tables())
        try:
            Path(path).write_text(text, encoding="utf-8")
        except OSError as error:
            raise InputError(f"cannot write {str(path)!r}: {error.strerror}") from error


def read_tables(path: str | Path) -> dict[str, Any]:
    """Read the tables of a problem file, with the rows of a matrix kept in a .npy file."""
    path = Path(path)
    try:
        text = _regular_file(path).decode("utf-8-sig")  # some editors write a mark first
        if _LONG_KEY in re.sub(r"[^.,=\n\[\]{}]+", "_", text):
            raise ValueError("a key has more parts than a problem file has")
        tables = tomllib.loads(text)
    except OSError as error:
        name = shown_path(path)
        raise InputError(f"cannot read {name}: {error.strerror}; give a problem file") from error
    except InputError:
        raise
    except (ValueError, RecursionError) as error:  # not TOML, not UTF-8, numbers or nesting too big
        line = " ".join(str(error).split())
        raise InputError(f"{shown_path(path)} is not a TOML file: {line}") from error
    encoding = tables.get("encoding")
    if isinstance(encoding, dict) and isinstance(encoding.get("matrix"), str):
        encoding["matrix"] = load_rows(path.parent / encoding["matrix"])
    return tables


def _regular_file(path: Path) -> bytes:
    """Return the content of a file, and never wait for a pipe or read a device without end."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise InputError(
            f"cannot read {shown_path(path)}: it is no file but a folder, a pipe or a device; "
            "give a problem file"
        )
    if status.st_size > _LARGEST_FILE:
        raise InputError(
            f"{shown_path(path)} has {status.st_size} bytes and a problem file at most "
            f"{_LARGEST_FILE}; keep a large matrix in a .npy file"
        )
    return path.read_bytes()


def load_rows(path: Path) -> list[list[float]]:
    """Read the rows of a matrix from a .npy file."""
    name = shown_path(path)
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise InputError(
                f"cannot read the matrix {name}: it is no file; give a .npy file of L rows"
            )
        with path.open("rb") as stream:
            rows = np.lib.format.read_array(stream, allow_pickle=False)
    except InputError:
        raise
    except OSError as error:
        mend = "give a .npy file of L rows"
        raise InputError(f"cannot read the matrix {name}: {error.strerror}; {mend}") from error
    except Exception as error:  # a damaged header can raise almost anything
        raise InputError(
            f"cannot read the matrix {name}: it is damaged or no .npy file; write it anew"
        ) from error
    if rows.ndim != 2 or rows.dtype.kind not in "fiu":
        raise InputError(f"{name} must hold a two-dimensional array of real numbers")
    return rows.astype(float).tolist()
