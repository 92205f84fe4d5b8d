import math

import pytest

from ssiode.errors import InputError
from ssiode.hermite.tensor.leading import leading_tensors


def test_separable_targets_are_orthogonally_decomposable():
    (leading,) = leading_tensors("sum(He3(z))", length=4)
    assert leading.order == 3
    assert leading.orthogonally_decomposable.answer == "yes"
    # C = 3! sum_l e_l^3: its norm is 6 and <C, 1^3> = 6 L / L^(3/2).
    assert leading.operator_norm.value == pytest.approx(6, rel=1e-12)
    assert leading.along_ones.value == pytest.approx(6 * 4 / 4**1.5, rel=1e-12)
    assert leading.ones_ratio.value == pytest.approx(1 / math.sqrt(4), rel=1e-12)


@pytest.mark.parametrize("target", ["z1 - z2", "(z1^2 - z2^2)/sqrt(2)", "tanh(z1) - tanh(z2)"])
def test_pathological_targets_are_found(target):
    (leading,) = leading_tensors(target)
    assert abs(leading.along_ones.value) <= leading.along_ones.error
    assert leading.is_pathological or leading.along_ones.exact is None


def test_a_product_is_not_decomposable():
    (leading,) = leading_tensors("z1*z2*z3")
    assert leading.orthogonally_decomposable.answer == "no"
    # The maximum of 6 u1 u2 u3 on the sphere is at (1, 1, 1)/sqrt(3).
    assert leading.operator_norm.value == pytest.approx(6 / 3**1.5, rel=1e-9)
    assert leading.ones_ratio.value == pytest.approx(1, rel=1e-9)


def test_only_outputs_of_the_lowest_order():
    assert [item.output for item in leading_tensors("[He3(z1), z1*z2, z2^2]")] == [1, 2]


def test_a_constant_has_none():
    with pytest.raises(InputError, match="constant"):
        leading_tensors("3")
