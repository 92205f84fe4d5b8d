"""Problems whose expansion at the origin is checked in several ways."""

import numpy as np

from ssiode import (
    Attention,
    Encoding,
    ExpressionStudent,
    LinearAttention,
    Problem,
    Target,
    TiedNetwork,
)

OPPOSITE = Encoding("opposite")
CORRELATED = Encoding("gram", matrix=((1.0, 0.3), (0.3, 0.8)), teacher_overlap=(0.4, -0.2))

PROBLEMS = {
    "trace": Problem(Target("He2(z1) + He4(z2)"), Attention("trace"), OPPOSITE),
    "trace, odd target": Problem(Target("z1 - z2 + z1*z2"), Attention("trace"), CORRELATED),
    "injected": Problem(
        Target("z1 + He3(z2)"), Attention("trace"), Encoding("orthonormal", injected=(0.6, -0.2))
    ),
    "projection": Problem(
        Target("He2(z1) + z1*z2"),
        Attention("projection", left=(1, 0), right=(0, 1)),
        Encoding("orthonormal", norm=0.7),
    ),
    "positional-semantic": Problem(
        Target.named("positional-semantic", omega=0.67, a=1.0), Attention("identity"), OPPOSITE
    ),
    "tied": Problem(Target("tanh(z1)*z2 + z1^2"), TiedNetwork("tanh"), CORRELATED),
    "kinked": Problem(
        Target("abs(z1) + z1*z2"), TiedNetwork("relu", scale=0.5), Encoding("orthonormal")
    ),
    "linear attention": Problem(Target("He2(z1) + z2"), LinearAttention(), CORRELATED),
    "formula": Problem(
        Target("z1*z2"), ExpressionStudent("[sin(z1)*z2 + z1]", scale=0.8), CORRELATED
    ),
    "along the teacher": Problem(
        Target("He2(z1) + z1"),
        TiedNetwork("tanh"),
        Encoding("gram", matrix=((0.25,),), teacher_overlap=(0.5,)),
    ),
    "label noise": Problem(Target("He3(z1)"), TiedNetwork("He3"), Encoding("orthonormal")).replace(
        label_noise=0.3
    ),
}

# Its terms of order 2 cancel to 15 digits, which is below the error of the coefficients.
NEARLY_BLIND = Problem(Target("He2(z1) + 0.6631936379625949*z1*z2"), Attention("trace"))


def overlaps(problem, size, count=6):
    """Random feasible states of one length, shape (count, L + 1)."""
    generator = np.random.default_rng(0)
    u = generator.standard_normal((count, problem.geometry.rank))
    return size * (u / np.linalg.norm(u, axis=1, keepdims=True)) @ problem.geometry.basis.T


def random_polynomial(generator, length=2, terms=3, highest=4):
    """A random sum of products of Hermite polynomials with whole coefficients."""
    parts = []
    for _ in range(terms):
        powers = generator.multinomial(generator.integers(1, highest + 1), np.ones(length) / length)
        factors = [f"He{p}(z{i + 1})" for i, p in enumerate(powers) if p]
        parts.append(f"{generator.choice([-3, -2, -1, 1, 2, 3])}*{'*'.join(factors)}")
    return " + ".join(parts)
