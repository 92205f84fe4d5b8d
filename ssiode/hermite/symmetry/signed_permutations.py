"""Signed permutations of tokens, and the search for those that leave a target as it is."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import sympy

from ssiode.errors import InputError
from ssiode.hermite.symmetry.canonical import CanonicalForms, Images
from ssiode.hermite.symmetry.form_algebra import Form, TooLargeError

# All signed permutations of so many tokens (384 for 4) are tried; of more tokens only flips of
# one, two or all and exchanges of two.
_ALL_UP_TO = 4
_MAX_TRIALS = 1500
_MAX_CLASSES = 6


@dataclass(frozen=True)
class SignedPermutation:
    """T with (Tz)_l = sign_l z_(index_l), and g(Tz) = character g(z).

    Attributes
    ----------
    images : tuple
        (index_l, sign_l) for each token.
    character : int
        1 or -1.

    Examples
    --------
    >>> swap = SignedPermutation(((1, 1), (0, 1)), -1)
    >>> swap.act((2, 0))
    ((0, 2), -1)
    """

    images: Images
    character: int

    def act(self, alpha: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
        """Return the multi-index and the sign with c_alpha = sign c_other."""
        other, sign = [0] * len(alpha), self.character
        for (index, flip), order in zip(self.images, alpha, strict=True):
            other[index] = order
            if flip < 0 and order % 2:
                sign = -sign
        return tuple(other), sign

    def then(self, other: SignedPermutation) -> SignedPermutation:
        """Return the symmetry T followed by another one."""
        images = tuple((other.images[i][0], s * other.images[i][1]) for i, s in self.images)
        return SignedPermutation(images, self.character * other.character)

    def describe(self, tokens: Sequence[sympy.Symbol], used: frozenset[int]) -> str:
        """Return the symmetry in words, of a target that depends on the tokens `used`.

        Examples
        --------
        >>> z1, z2 = sympy.symbols("z1 z2")
        >>> SignedPermutation(((0, -1), (1, 1)), -1).describe((z1, z2), frozenset({0, 1}))
        'odd in z1'
        """
        moved = [i for i, image in enumerate(self.images) if image != (i, 1)]
        names = [str(tokens[i]) for i in moved]
        if all(self.images[i][0] == i for i in moved):
            parity = "even" if self.character > 0 else "odd"
            if len(moved) == 1:
                return f"{parity} in {names[0]}"
            which = "all tokens" if used <= set(moved) else " and ".join(names)
            return f"{parity} in {which} together"
        kind = "symmetric" if self.character > 0 else "antisymmetric"
        images = [
            ("-" if s < 0 else "") + str(tokens[i]) for i, s in map(self.images.__getitem__, moved)
        ]
        if len(moved) == 2 and not any(image.startswith("-") for image in images):
            return f"{kind} under {names[0]} <-> {names[1]}"
        return f"{kind} under ({', '.join(names)}) -> ({', '.join(images)})"


def find_symmetries(
    expression: sympy.Expr,
    tokens: Sequence[sympy.Symbol],
    used: Sequence[int],
    forms: CanonicalForms,
    form: Form,
) -> Iterator[SignedPermutation]:
    """Yield proved symmetries that generate all that are found.

    Parameters
    ----------
    expression : sympy.Expr
        The target.
    tokens : sequence of sympy.Symbol
        z1, ..., zL.
    used : sequence of int
        The tokens that it depends on; the others are left alone.
    forms, form : CanonicalForms, dict
        Its canonical form.
    """
    search = _Search(expression, tokens, forms, form)
    try:
        yield from search.all(used) if len(used) <= _ALL_UP_TO else search.simple(used)
    except TooLargeError:
        return


class _Search:
    """Tries signed permutations: numbers first, which are fast, then proofs of what is left."""

    def __init__(
        self,
        expression: sympy.Expr,
        tokens: Sequence[sympy.Symbol],
        forms: CanonicalForms,
        form: Form,
    ) -> None:
        from ssiode.expression.code import array_function

        self.length = len(tokens)
        self.forms = forms
        self.form = form
        self.points = np.random.default_rng(0).normal(size=(3, len(tokens)))
        try:
            self.function = array_function([expression], tokens)
            with np.errstate(all="ignore"):
                self.sizes = np.abs(self.function(self.points)[..., 0])[:, None]
        except InputError:
            self.function = None

    def all(self, used: Sequence[int]) -> Iterator[SignedPermutation]:
        """Yield generators of the group of all symmetries of a few tokens."""
        group = {SignedPermutation(_flip([], self.length), 1)}
        candidates = list(_all_signed_permutations(used, self.length))
        for images in itertools.compress(candidates, self.plausible(candidates)):
            if any(element.images == images for element in group):
                continue
            if (found := self.proved(images)) is not None:
                yield found
                group = _closure(group, found)

    def simple(self, used: Sequence[int]) -> Iterator[SignedPermutation]:
        """Yield flips of one, all and two tokens and exchanges of two."""
        single = [[index] for index in used]
        alone = {found: found.images for found in self.flips([*single, list(used)])}
        yield from alone
        rest = [i for i in used if _flip([i], self.length) not in alone.values()]
        pairs = itertools.islice(itertools.combinations(rest, 2), _MAX_TRIALS)
        yield from self.flips(list(map(list, pairs)))
        yield from self.exchanges(used)

    def flips(self, sets: Sequence[Sequence[int]]) -> Iterator[SignedPermutation]:
        """Yield the symmetries among flips of sets of tokens."""
        candidates = [_flip(indices, self.length) for indices in sets]
        for images in itertools.compress(candidates, self.plausible(candidates)):
            if (found := self.proved(images)) is not None:
                yield found

    def exchanges(self, used: Sequence[int]) -> Iterator[SignedPermutation]:
        """Yield exchanges of each token with one of its class, plain or with both flipped."""
        representatives: list[int] = []
        for index in used:
            found = None
            for other in representatives[:_MAX_CLASSES]:
                candidates = [_exchange(index, other, sign, self.length) for sign in (1, -1)]
                plausible = itertools.compress(candidates, self.plausible(candidates))
                found = next(filter(None, map(self.proved, plausible)), None)
                if found is not None:
                    yield found
                    break
            if found is None:
                representatives.append(index)

    def plausible(self, candidates: Sequence[Images]) -> np.ndarray:
        """Whether |g(Tz)| = |g(z)| to rounding at some points; true where this cannot be told."""
        everything = np.ones(len(candidates), dtype=bool)
        if self.function is None or not candidates:
            return everything
        indices = np.array([[i for i, _ in images] for images in candidates], dtype=int)
        signs = np.array([[s for _, s in images] for images in candidates])
        with np.errstate(all="ignore"):
            moved = np.abs(self.function(self.points[:, indices] * signs)[..., 0])
            differs = np.abs(moved - self.sizes) > 1e-6 * (moved + self.sizes) + 1e-12
        return everything & ~differs.any(axis=0)

    def proved(self, images: Images) -> SignedPermutation | None:
        """Return the symmetry if it is one."""
        character = self.forms.character(self.form, images)
        return None if character is None else SignedPermutation(images, character)


def _closure(group: set[SignedPermutation], new: SignedPermutation) -> set[SignedPermutation]:
    """Return the group generated by a group and one more element."""
    elements, pending = set(group), {new}
    generators = [*group, new]
    while pending:
        elements |= pending
        products = {a.then(b) for a in pending for b in generators}
        pending = products - elements
    return elements


def _flip(indices: Iterable[int], length: int) -> Images:
    flipped = set(indices)
    return tuple((i, -1 if i in flipped else 1) for i in range(length))


def _exchange(first: int, second: int, sign: int, length: int) -> Images:
    images = list(_flip([], length))
    images[first], images[second] = (second, sign), (first, sign)
    return tuple(images)


def _all_signed_permutations(used: Sequence[int], length: int) -> Iterator[Images]:
    """Those that move or flip few tokens first."""
    flips = sorted(itertools.product((1, -1), repeat=len(used)), key=lambda s: s.count(-1))
    plain = sorted(flips, key=lambda s: s.count(-1) not in (1, len(used)))
    orders = sorted(
        itertools.permutations(used),
        key=lambda p: sum(a != b for a, b in zip(p, used, strict=True)),
    )
    for order in orders:
        for signs in plain if order == tuple(used) else flips:
            images = {i: (j, s) for i, j, s in zip(used, order, signs, strict=True)}
            yield tuple(images.get(i, (i, 1)) for i in range(length))
