r"""The leading tensor of a target and what tied networks make of it.

.. math:: C = C_n(g),\ n = SIE(g), \qquad
          \bar r = \langle C, \hat 1^{\otimes n}\rangle / |C|_{op}

(Arnaboldi et al., arXiv 2506.02651, Theorem 2). A network that shares its weights among the tokens
sees the direction of all ones only: it is blind to C where the contraction is zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ssiode.errors import InputError
from ssiode.exponent import read_target, sie
from ssiode.hermite.coefficient import Verdict
from ssiode.hermite.sources import coefficient_source
from ssiode.hermite.tensor.operator_norm import OnesRatio, OperatorNorm, ones_ratio, operator_norm
from ssiode.hermite.tensor.orthogonal import Decomposability, is_orthogonally_decomposable
from ssiode.hermite.tensor.symmetric import Estimate, SymmetricTensor


@dataclass(frozen=True)
class LeadingTensor:
    """The leading tensor of one output whose order is the exponent of the target.

    Attributes
    ----------
    output, order : int
        Which output, from 0, and n.
    tensor : SymmetricTensor
        C_n.
    along_ones : Estimate
        Its contraction with the unit vector of all ones.
    operator_norm : OperatorNorm
    ones_ratio : OnesRatio
    orthogonally_decomposable : Decomposability
    """

    output: int
    order: int
    tensor: SymmetricTensor
    along_ones: Estimate
    operator_norm: OperatorNorm
    ones_ratio: OnesRatio
    orthogonally_decomposable: Decomposability

    @classmethod
    def of(cls, output: int, tensor: SymmetricTensor) -> LeadingTensor:
        """From a tensor that is not zero."""
        norm = operator_norm(tensor)
        return cls(
            output=output,
            order=tensor.order,
            tensor=tensor,
            along_ones=tensor.along_ones(),
            operator_norm=norm,
            ones_ratio=ones_ratio(tensor, norm),
            orthogonally_decomposable=is_orthogonally_decomposable(tensor),
        )

    @property
    def is_pathological(self) -> bool:
        """Whether the contraction with all ones is proved zero: a tied network is blind to C."""
        return self.along_ones.verdict is Verdict.ZERO

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, exact values as text."""
        data = {
            "output": self.output,
            "order": self.order,
            "entries": [
                {"alpha": alpha, "value": value} for alpha, value in self.tensor.values.items()
            ],
            "along_ones": self.along_ones._asdict(),
            "operator_norm": asdict(self.operator_norm),
            "ones_ratio": asdict(self.ones_ratio),
            "orthogonally_decomposable": self.orthogonally_decomposable._asdict(),
            "is_pathological": self.is_pathological,
        }
        for part in ("along_ones", "operator_norm", "ones_ratio"):
            exact = data[part]["exact"]
            data[part]["exact"] = None if exact is None else str(exact)
        return data


def leading_tensors(
    target: Any, length: int | None = None, parameters: Mapping[str, Any] | None = None
) -> tuple[LeadingTensor, ...]:
    """Return the leading tensors of the outputs that set the exponent of a target.

    Parameters
    ----------
    target, length, parameters
        As for :func:`ssiode.sie`.

    Raises
    ------
    InputError
        If the exponent of the target is not proved.

    Examples
    --------
    >>> (leading,) = leading_tensors("z1^2 - z2^2")
    >>> leading.is_pathological, leading.operator_norm.exact
    (True, 2)
    """
    exponent = sie(target, length, parameters=parameters)
    if exponent.sie is None:
        raise InputError(f"there is no leading tensor: {exponent.message}")
    parsed = read_target(target, length, parameters)
    found = []
    for output, expression in enumerate(parsed.outputs):
        if exponent.output_exponents[output] == exponent.sie:
            source = coefficient_source(expression, parsed.tokens)
            tensor = SymmetricTensor.of(source.coefficients(exponent.sie))
            found.append(LeadingTensor.of(output, tensor))
    return tuple(found)
