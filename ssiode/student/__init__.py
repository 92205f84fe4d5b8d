"""Students: local functions f(z) of the fields z = X w + e, with their kernels."""

from ssiode.student.attention import Attention
from ssiode.student.base import Student, SymbolicForm
from ssiode.student.expression import ExpressionStudent
from ssiode.student.networks import LinearAttention, TiedNetwork, UntiedNetwork

__all__ = [
    "Attention",
    "ExpressionStudent",
    "LinearAttention",
    "Student",
    "SymbolicForm",
    "TiedNetwork",
    "UntiedNetwork",
]
