"""Targets g: R^L -> R^k as SymPy expressions, NumPy functions and kernel source."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ssiode.errors import InputError, shown, unknown_name, whole_number
from ssiode.registry import plain

if TYPE_CHECKING:
    import sympy

_EXPRESSION_KEYS = ("expression", "length", "parameters")
_NOISE_KEY = "label_noise"  # of the problem, but written in its [target]


class Target:
    r"""The target :math:`y = g(z_\star)` on the L fields :math:`z_\star = X w_\star`.

    Parameters
    ----------
    definition : str, SymPy expression, list of SymPy expressions, or callable
        Text such as ``"He2(z1) + He2(z2)"``, SymPy in symbols named z1...zL, or a Python function
        from arrays of shape (..., L) to (..., k) or (...,). A function is opaque: it has no exact
        expansion, and no text that a file could hold.
    length : int, optional
        Number of tokens L; by default the highest token in the text.
    parameters : mapping, optional
        Values of the free names, as numbers or exact text such as ``"1/3"``.

    Attributes
    ----------
    length, n_outputs : int
        L and k.
    expressions : tuple of SymPy expressions or None
        The outputs, None for a callable.

    Raises
    ------
    InputError
        If the text cannot be read, a token is beyond L, a parameter has no value, or a callable
        has no `length` or returns other shapes.

    Examples
    --------
    >>> target = Target("z1*z2")
    >>> target(np.array([[2.0, 3.0]])).tolist()
    [[6.0]]
    >>> Target(lambda z: z.sum(axis=-1), length=3)(np.ones((2, 3))).tolist()
    [[3.0], [3.0]]
    """

    def __init__(
        self,
        definition: Any,
        length: int | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> None:
        self._table: dict[str, Any] | None = None
        if callable(definition) and not hasattr(definition, "free_symbols"):
            if length is None:
                raise InputError("a target given as a Python function needs its length")
            self.length = whole_number("length", length, minimum=1)
            self.expressions: tuple[sympy.Expr, ...] | None = None
            self._function: Callable[[np.ndarray], np.ndarray] = definition
            self.n_outputs = self(np.zeros((2, self.length))).shape[-1]
            return
        if parameters is not None and not isinstance(parameters, Mapping):
            raise InputError("the parameters of the target must be a table, such as b = 2")
        from ssiode.expression.adopt import read_definition
        from ssiode.expression.text import expression_text

        parsed = read_definition(definition, length, parameters)
        if parsed.parameters:
            name = parsed.parameters[0]
            raise InputError(f"parameter {name} has no value; give it, as in --param {name}=2")
        self.length = parsed.length
        self.expressions = parsed.outputs
        self.n_outputs = len(parsed.outputs)
        text = definition if isinstance(definition, str) else expression_text(parsed.outputs)
        self._table = {"expression": text, "length": parsed.length}
        if parameters and isinstance(definition, str):
            self._table["parameters"] = {name: plain(v) for name, v in parameters.items()}

    @classmethod
    def named(cls, name: str, /, **parameters: float) -> Target:
        """Build a target of the literature; `ssiode targets` lists the names.

        >>> Target.named("positional-semantic", omega=0.67, a=1.0).n_outputs
        4
        """
        from ssiode.named_targets import named_target

        known = named_target(name)
        values = known.check(name, parameters)
        target = cls(known.expression, known.length, values)
        target._table = {"name": name, **values}
        return target

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> Target:
        """Build a target from the entries of a problem file.

        Either `expression`, with `length` and `parameters` if wanted, or `name` and the
        parameters of that name.
        """
        settings = dict(table)
        has_name, has_expression = "name" in settings, "expression" in settings
        if has_name and not has_expression:
            return cls._from_name(settings)
        for key in settings:
            if key not in (*_EXPRESSION_KEYS, "name"):
                allowed = (*_EXPRESSION_KEYS, "name and its parameters", _NOISE_KEY)
                raise unknown_name("key of target", key, allowed)
        if has_name == has_expression:
            raise InputError("the target needs either 'expression' or 'name'")
        definition = settings.pop("expression")
        if isinstance(definition, list) and all(isinstance(text, str) for text in definition):
            definition = f"[{', '.join(definition)}]"
        if not isinstance(definition, str):
            raise InputError(
                f"the expression of the target is {shown(definition)}; it must be text, or a list "
                "of texts, one for each output"
            )
        return cls(definition, **settings)

    @classmethod
    def _from_name(cls, settings: dict[str, Any]) -> Target:
        from ssiode.named_targets import named_target

        name = settings.pop("name")
        known = named_target(name)
        names = " and ".join(known.ranges)
        if "parameters" in settings:
            raise InputError(
                f"target {name!r} has no free names; give {names} as keys of [target] or flags"
            )
        for key in settings:
            if key not in (*known.ranges, "length"):
                allowed = ("name", "length", _NOISE_KEY, *known.ranges)
                raise unknown_name(f"key of target {name!r}", key, allowed)
        length = settings.pop("length", None)
        target = cls.named(name, **settings)
        if length not in (None, target.length):
            raise InputError(f"length is {shown(length)}; target {name!r} has {target.length}")
        return target

    def to_table(self) -> dict[str, Any]:
        """Return the entries that :meth:`from_table` takes.

        Raises
        ------
        InputError
            For a callable, which has no text.
        """
        if self._table is None:
            raise InputError("a target given as a Python function cannot be written to a file")
        return dict(self._table)

    @property
    def is_smooth(self) -> bool:
        """Whether g is known to have all derivatives."""
        from ssiode.expression.smoothness import is_smooth

        return self.expressions is not None and all(map(is_smooth, self.expressions))

    def __call__(self, z_star: np.ndarray) -> np.ndarray:
        """Evaluate g on fields of shape (..., L); returns shape (..., k)."""
        z_star = np.asarray(z_star, dtype=float)
        if z_star.shape[-1:] != (self.length,):
            raise InputError(
                f"the fields have shape {z_star.shape}; the last axis must be the "
                f"{self.length} tokens"
            )
        with np.errstate(all="ignore"):  # who uses the values checks them
            values = _real_array(self._function(z_star))
        if values.shape == z_star.shape[:-1]:
            values = values[..., None]
        if values.shape[:-1] != z_star.shape[:-1]:
            raise InputError(
                f"the target function maps shape {z_star.shape} to {values.shape}; it must keep "
                "all axes but the last"
            )
        return values

    @cached_property
    def _function(self) -> Callable[[np.ndarray], np.ndarray]:
        from ssiode.expression import token_symbols
        from ssiode.expression.code import array_function

        return array_function(self.expressions, token_symbols(self.length))

    def __repr__(self) -> str:
        return f"Target({self._table or self._function!r})"


def _real_array(values: Any) -> np.ndarray:
    """Values of a target as floats, refusing what has no such form without loss."""
    array = np.asarray(values)
    if array.dtype.kind == "O":
        try:
            array = array.astype(float)
        except (TypeError, ValueError):
            array = np.array("")
    if array.dtype.kind not in "biuf":
        kind = "complex" if array.dtype.kind == "c" else "other"
        raise InputError(f"the target has {kind} values; it must return real numbers")
    return array.astype(float, copy=False)
