r"""The operator norm of symmetric tensors, and how well a tensor is aligned with all ones.

.. math:: |C|_{op} = \max_{|u| = 1} |\langle C, u^{\otimes n} \rangle|, \qquad
          \bar r = \frac{\langle C, \hat 1^{\otimes n} \rangle}{|C|_{op}}, \qquad
          \hat 1 = (1, \dots, 1)/\sqrt L

(Arnaboldi et al., arXiv 2506.02651, Theorem 2). For symmetric tensors the maximum over n different
unit vectors is the same (Banach 1938).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import sympy

from ssiode.errors import InputError
from ssiode.hermite.tensor.sphere_search import (
    Extreme,
    Form,
    certified_maximum,
    power_method,
    starting_points,
    unfolding_bound,
)
from ssiode.hermite.tensor.symmetric import SymmetricTensor

_ROUNDING = 2.0**-52


@dataclass(frozen=True)
class OperatorNorm:
    """An operator norm with its certificate.

    Attributes
    ----------
    value : float
        The best value known, attained at the maximiser up to rounding.
    lower, upper : float
        The norm is proved to lie between these, errors of the entries included.
    certificate : str
        What the upper bound rests on, in words.
    maximiser : tuple of float
        A unit vector.
    exact : sympy.Expr or None
        The exact norm, if it has a simple form.
    """

    value: float
    lower: float
    upper: float
    certificate: str
    maximiser: tuple[float, ...]
    exact: sympy.Expr | None = None


@dataclass(frozen=True)
class OnesRatio:
    r"""The ratio :math:`\bar r` with the interval in which it lies.

    Attributes
    ----------
    value, lower, upper : float
        The ratio and its bounds.
    exact : sympy.Expr or None
        The exact ratio, if it is known.
    """

    value: float
    lower: float
    upper: float
    exact: sympy.Expr | None = None


def operator_norm(tensor: SymmetricTensor) -> OperatorNorm:
    r"""Return the operator norm of a symmetric tensor.

    In closed form for vectors, single entries and diagonal tensors, by eigenvalues for matrices.
    Otherwise from below by power iterations from many fixed starts and from above by branch and
    bound on spheres of few dimensions and by singular values of unfoldings, which are sharp for
    orthogonally decomposable tensors. For n >= 2 the norm of a direct sum is the largest one of
    its parts.

    Examples
    --------
    >>> operator_norm(SymmetricTensor(3, 3, {(1, 1, 1): 1})).exact
    2*sqrt(3)/3
    >>> norm = operator_norm(SymmetricTensor(3, 2, {(3, 0): 6, (2, 1): 1, (0, 3): 6}))
    >>> norm.upper - norm.lower < 1e-7, norm.certificate
    (True, 'branch and bound on the sphere of 2 tokens')
    """
    if not tensor.entries:
        first = (1.0, *(0.0,) * (tensor.length - 1))
        return OperatorNorm(0.0, 0.0, 0.0, "the tensor is zero", first, sympy.S.Zero)
    if tensor.order == 1:
        return _of_vector(tensor)
    known: dict[tuple[object, ...], OperatorNorm] = {}
    found = []
    for tokens, part in tensor.parts():
        key = (frozenset(part.entries.items()), frozenset(part.errors.items()))
        if key not in known:
            known[key] = _of_part(part)
        found.append((tokens, known[key]))
    return _largest(found, tensor.length)


def ones_ratio(tensor: SymmetricTensor, norm: OperatorNorm | None = None) -> OnesRatio:
    r"""Return :math:`\bar r = \langle C, \hat 1^{\otimes n} \rangle / |C|_{op}`, from -1 to 1.

    Parameters
    ----------
    tensor : SymmetricTensor
        C, not zero.
    norm : OperatorNorm, optional
        Its operator norm, if it is known already.

    Raises
    ------
    InputError
        If the tensor may be zero.

    Examples
    --------
    >>> ones_ratio(SymmetricTensor(4, 4, {(4, 0, 0, 0): 1, (0, 0, 4, 0): 1})).exact
    1/8
    """
    norm = norm or operator_norm(tensor)
    if not norm.lower > 0:
        raise InputError("the tensor is zero within its errors; it has no ratio to its norm")
    along = tensor.along_ones()
    ends = [along.value - along.error, along.value + along.error]
    ratios = [end / size for end in ends for size in (norm.lower, norm.upper)]
    exact = None
    if along.exact is not None and (along.exact.is_zero or norm.exact is not None):
        exact = sympy.S.Zero if along.exact.is_zero else sympy.radsimp(along.exact / norm.exact)
    value = min(max(along.value / norm.value, -1.0), 1.0)
    low, high = math.nextafter(min(ratios), -2.0), math.nextafter(max(ratios), 2.0)
    if exact == 0:
        low = high = 0.0
    return OnesRatio(value, max(low, -1.0), min(high, 1.0), exact)


def _of_vector(tensor: SymmetricTensor) -> OperatorNorm:
    norm = tensor.frobenius_norm()
    vector = np.zeros(tensor.length)
    for alpha, value in tensor.values.items():
        vector[alpha.index(1)] = value
    return OperatorNorm(
        norm.value,
        max(norm.value - norm.error, 0.0),
        norm.value + norm.error,
        "Euclidean norm",
        _direction(vector),
        norm.exact,
    )


def _of_part(tensor: SymmetricTensor) -> OperatorNorm:
    """Return the norm of a tensor that is no direct sum."""
    if len(tensor.entries) == 1:
        return _of_entry(tensor)
    if tensor.order == 2:
        return _of_matrix(tensor)
    return _searched(tensor)


def _of_entry(tensor: SymmetricTensor) -> OperatorNorm:
    r"""Maximise :math:`\prod_l |u_l|^{\alpha_l}`, at :math:`u_l^2 = \alpha_l/n`."""
    ((alpha, entry),) = tensor.entries.items()
    n, count = tensor.order, tensor.multiplicities[alpha]
    factor = count * math.prod((a / n) ** (a / 2) for a in alpha)
    exact = None
    if isinstance(entry, sympy.Expr):
        powers = [sympy.Rational(a, n) ** sympy.Rational(a, 2) for a in alpha]
        exact = count * sympy.Abs(entry) * sympy.Mul(*powers)
    value = factor * abs(tensor.values[alpha])
    error = factor * tensor.bounds[alpha] + 8 * (n + tensor.length) * _ROUNDING * value
    certificate = "closed form of a single entry" if tensor.length > 1 else "diagonal"
    maximiser = _direction(np.sqrt(np.array(alpha) / n))
    if error == 0.0 or value == float(exact or math.nan):
        error = tensor.bounds[alpha] * factor
    return OperatorNorm(
        value, max(value - error, 0.0), value + error, certificate, maximiser, exact
    )


def _of_matrix(tensor: SymmetricTensor) -> OperatorNorm:
    matrix = tensor.array()
    values, vectors = np.linalg.eigh(matrix)
    place = int(np.argmax(np.abs(values)))
    value, exact = abs(float(values[place])), None
    if tensor.length == 2 and tensor.is_exact:
        (a, b), (_, c) = tensor.matrix().tolist()
        root = sympy.sqrt(sympy.expand((a - c) ** 2 + 4 * b**2))
        exact = sympy.expand((sympy.Abs(a + c) + root) / 2)
    rounding = 8 * tensor.length * _ROUNDING * float(np.linalg.norm(matrix))
    error = rounding + _error_norm(tensor)
    maximiser = _direction(vectors[:, place])
    low = max(value - error, 0.0)
    return OperatorNorm(value, low, value + error, "largest eigenvalue", maximiser, exact)


def _searched(tensor: SymmetricTensor) -> OperatorNorm:
    largest = max(map(abs, tensor.values.values())) or 1.0
    scaled = SymmetricTensor(
        tensor.order, tensor.length, {alpha: v / largest for alpha, v in tensor.values.items()}
    )
    form = Form(scaled)
    upper, certificate = unfolding_bound(scaled), "largest singular value of an unfolding"
    starts = starting_points(form, scaled)
    sizes = np.abs(form(starts)) / np.linalg.norm(starts, axis=1) ** form.order
    if sizes.max() > upper * (1 - 1e-9):
        starts = starts[[np.argmax(sizes)]]
    best = power_method(form, starts)
    if upper > best.value * (1 + 1e-12) and (found := certified_maximum(form, best)):
        best, certified = found
        if certified < upper:
            upper = certified
            certificate = f"branch and bound on the sphere of {tensor.length} tokens"
    return _scaled_back(tensor, best, upper, certificate, form.rounding, largest)


def _scaled_back(
    tensor: SymmetricTensor,
    best: Extreme,
    upper: float,
    certificate: str,
    rounding: float,
    largest: float,
) -> OperatorNorm:
    error = _error_norm(tensor)
    lower = max((best.value - rounding) * largest - error, 0.0)
    above = (max(upper, best.value) + rounding) * largest * (1 + 4 * _ROUNDING) + error
    return OperatorNorm(best.value * largest, lower, above, certificate, _direction(best.point))


def _largest(found: Sequence[tuple[tuple[int, ...], OperatorNorm]], length: int) -> OperatorNorm:
    tokens, best = max(found, key=lambda item: item[1].value)
    lower = max(norm.lower for _, norm in found)
    rivals = [norm for _, norm in found if norm.upper >= best.lower]
    loosest = max(rivals, key=lambda norm: norm.upper)
    exact = best.exact if all(norm.exact == best.exact for norm in rivals) else None
    point = np.zeros(length)
    point[list(tokens)] = best.maximiser
    certificate = loosest.certificate
    if len(found) > 1:
        certificate = f"largest of {len(found)} parts on separate tokens: {certificate}"
    return OperatorNorm(
        best.value, lower, loosest.upper, certificate, tuple(map(float, point)), exact
    )


def _error_norm(tensor: SymmetricTensor) -> float:
    """Return the Frobenius norm of the tensor of the errors."""
    counts = tensor.multiplicities
    return math.hypot(*[math.sqrt(counts[a]) * e for a, e in tensor.bounds.items()])


def _direction(vector: np.ndarray) -> tuple[float, ...]:
    return tuple(float(x) for x in vector / (np.linalg.norm(vector) or 1.0))
