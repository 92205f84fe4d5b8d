"""Targets as kernels give the values of the targets, whatever their form."""

from __future__ import annotations

import numpy as np
import pytest

from ssiode import Target
from ssiode.dynamics import target_kernel as module
from ssiode.dynamics.target_kernel import target_kernel
from ssiode.kernels.linker import link, piece

POLYNOMIALS = [
    "3",
    "z1",
    "0*z1 + z2",
    "He2(z1) + He2(z2)",
    "[z1*z2*z3 - 1/3, sqrt(2)*z2^4, He3(z1 - z2)]",
    "He10(z1)*He9(z3) + pi",
    "sum(z)^5/L",
    "sum(He2(z))*prod(z)",
]
OTHERS = ["[sin(z1)*exp(z2), 1/2, max(z1, z3)^3]", "abs(z1)", "1/(1 + z2^2)", "sum(z)^15"]
Z = np.random.default_rng(0).standard_normal((50, 3))


def evaluate(target, kernel, fields=Z):
    function = link(kernel.pieces).target_outputs
    data = kernel.degrees, kernel.products, kernel.coefficients
    outputs, values = np.empty((len(fields), target.n_outputs)), np.empty(data[-1].shape[1])
    for z, row in zip(fields, outputs, strict=True):
        function(z, *data, values, row)
    return outputs


@pytest.mark.parametrize("text", POLYNOMIALS + OTHERS)
def test_values_are_those_of_the_target(text):
    target = Target(text, length=3)
    kernel = target_kernel(target)
    np.testing.assert_allclose(evaluate(target, kernel), target(Z), rtol=1e-12, atol=1e-12)
    assert kernel.coefficients.shape[0] == target.n_outputs


def test_one_kernel_serves_all_polynomials():
    sources = {target_kernel(Target(text, length=3)).pieces for text in POLYNOMIALS}
    assert sources == {(piece("polynomial_target"),)}
    assert len({target_kernel(Target(text, length=3)).pieces for text in OTHERS}) == len(OTHERS)


def test_one_source_serves_all_mixtures():
    named = [Target.named("positional-semantic", omega=w, a=1.0) for w in (0.25, 0.3, 0.9)]
    kernels = [target_kernel(target) for target in named]
    assert len({kernel.pieces for kernel in kernels}) == 1
    z = np.random.default_rng(1).standard_normal((20, 2))
    for target, kernel in zip(named, kernels, strict=True):
        np.testing.assert_allclose(evaluate(target, kernel, z), target(z), rtol=1e-14)


def test_exponents_are_not_shared():
    sources = {target_kernel(Target(f"(1 + z1^2)^{p}")).pieces for p in (0.3, 0.4)}
    assert len(sources) == 2


def test_large_polynomials_are_generated(monkeypatch):
    small = Target("z1*z2*z3 + He4(z2)", length=3)
    monkeypatch.setattr(module, "_MOST_VALUES", 6)
    kernel = target_kernel(small)
    assert kernel.pieces[-1] == piece("expression_target")
    np.testing.assert_allclose(evaluate(small, kernel), small(Z), rtol=1e-13)


def test_a_python_function_has_room_for_its_labels():
    kernel = target_kernel(Target(lambda z: z, length=3))
    assert kernel.coefficients.shape[0] == 3
