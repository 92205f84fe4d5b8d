"""E |g|^2 from the expressions of a target, to hold a sample against."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from ssiode.errors import InputError

if TYPE_CHECKING:
    from ssiode.target import Target

_LONGEST = 8
# Operations beyond which squares are not multiplied out.
_LARGEST = 200


@lru_cache(maxsize=32)
def label_square(target: Target) -> float | None:
    """E |g|^2 where it has a closed form that is cheap to find, else None.

    Examples
    --------
    >>> from ssiode.target import Target
    >>> label_square(Target("z1*z2")), label_square(Target("tanh(z1)"))
    (1.0, None)
    """
    if target.expressions is None or target.length > _LONGEST:
        return None
    if sum(expression.count_ops() for expression in target.expressions) > _LARGEST:
        return None
    from ssiode.expression import token_symbols
    from ssiode.hermite.sources import coefficient_source

    tokens = token_symbols(target.length)
    total = 0.0
    for expression in target.expressions:
        try:
            source = coefficient_source(expression**2, tokens)
            if source.is_numeric:
                return None
            total += sum(coefficient.value for coefficient in source.coefficients(0))
        except InputError:  # too large once it is multiplied out
            return None
    return total
