r"""Weights :math:`a_l` of the tokens in the sum :math:`\sum_l a_l z_l/\sqrt L`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ssiode.errors import InputError, choose, finite_number, number_list, shown

# Of the random weights: another stream than those of a run with the same seed.
_STREAM = int.from_bytes(b"tokens")

_DRAWN: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "signs": lambda generator, length: generator.choice([-1.0, 1.0], length),
    "random": lambda generator, length: generator.standard_normal(length),
}
_NAMES = ("alternating", *_DRAWN)


def checked_token_weights(
    given: str | Sequence[float] | None, seed: int | None
) -> str | tuple[float, ...] | None:
    """Return weights as a name or as numbers.

    Raises
    ------
    InputError
        On an unknown name, numbers that are not finite or all zero, or a seed of weights that are
        not drawn.
    """
    if given is not None and not isinstance(given, str):
        is_list = hasattr(given, "__iter__")
        given = number_list("token_weights", given) if is_list else (_number(given),)
        if not any(given):
            raise InputError("token_weights are all 0; give at least one that is not")
    elif given is not None:
        choose("token_weights", given, _NAMES)
    if seed is not None and (not isinstance(given, str) or given not in _DRAWN):
        raise InputError(
            f"token_seed is taken by the token_weights {' and '.join(_DRAWN)} alone; leave it out"
        )
    return given


def _number(given: float) -> float:
    return finite_number("token_weights", given)


def token_weights(
    given: str | tuple[float, ...] | None, seed: int | None, length: int
) -> tuple[float, ...]:
    """Return one weight per token, before they are scaled to a mean square of 1.

    Raises
    ------
    InputError
        If a list has another length.

    Examples
    --------
    >>> token_weights("alternating", None, 3), token_weights((2, -1), None, 2)
    ((1.0, -1.0, 1.0), (2, -1))
    """
    if given is None:
        return (1.0,) * length
    if given == "alternating":
        return tuple((-1.0) ** i for i in range(length))
    if isinstance(given, str):
        sequence = np.random.SeedSequence(seed or 0, spawn_key=(_STREAM,))
        return tuple(_DRAWN[given](np.random.default_rng(sequence), length).tolist())
    if len(given) != length:
        raise InputError(
            f"token_weights is {shown(list(given))} with {len(given)} entries; give one per token "
            f"({length}), or one of {', '.join(_NAMES)}"
        )
    return given
