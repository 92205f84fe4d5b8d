"""The students' kernels against plain NumPy, and what the classes refuse."""

from __future__ import annotations

import numpy as np
import pytest

from ssiode.kernels.linker import link
from ssiode.student import Attention, ExpressionStudent, LinearAttention, Student, TiedNetwork
from tests import reference
from tests.checks import refuses

DRIVER = """
@njit(error_model="numpy")
def run(z, parameters, workspace, cotangent, outputs, gradient):
    student_forward(z, parameters, workspace, outputs)
    student_backward(z, parameters, workspace, cotangent, gradient)
"""


def projection_vectors(length):
    vectors = np.random.default_rng(5).standard_normal((2, length))
    return tuple(map(tuple, vectors.tolist()))


def projection(length):
    left, right = projection_vectors(length)
    return Attention("projection", 0.7, left, right)


def projection_reference(length):
    return reference.attention_weighted(0.7 * np.outer(*projection_vectors(length)))


STUDENTS = {
    "identity": (lambda L: Attention("identity"), lambda L: reference.attention_identity()),
    "scaled identity": (
        lambda L: Attention("identity", scale=-1.5),
        lambda L: reference.attention_identity(-1.5),
    ),
    "trace": (
        lambda L: Attention("trace", scale=2.0),
        lambda L: reference.attention_weighted(2.0 * np.eye(L)),
    ),
    "projection": (projection, projection_reference),
    "linear attention": (
        lambda L: LinearAttention(3.0),
        lambda L: reference.tied_network("square", 3.0),
    ),
    **{
        f"tied {name}": (
            lambda L, name=name: TiedNetwork(name, -0.5),
            lambda L, name=name: reference.tied_network(name, -0.5),
        )
        for name in reference.ACTIVATIONS
    },
}
each_student = pytest.mark.parametrize("name", STUDENTS)
each_length = pytest.mark.parametrize("length", [1, 2, 5])


class Kernel:
    """The linked kernel of a student, called from NumPy."""

    def __init__(self, student: Student, length: int) -> None:
        self.run = link([*student.kernel_pieces(length), DRIVER]).run
        self.parameters = student.kernel_parameters(length)
        self.workspace_size = student.workspace_size(length)
        self.n_outputs = student.n_outputs(length)
        self.length = length

    def __call__(self, z, cotangent=None):
        """Return the outputs and the pulled-back cotangent."""
        outputs, gradient = np.full(self.n_outputs, np.nan), np.full(self.length, np.nan)
        cotangent = np.ones(self.n_outputs) if cotangent is None else cotangent
        workspace = np.full(self.workspace_size, np.nan)
        self.run(z, self.parameters, workspace, cotangent, outputs, gradient)
        return outputs, gradient


def setting(name, length):
    build, build_reference = STUDENTS[name]
    return Kernel(build(length), length), build_reference(length)


@each_student
@each_length
def test_outputs_and_gradient_are_the_formulas(name, length):
    kernel, expected = setting(name, length)
    generator = np.random.default_rng(length)
    for size in (0.01, 1.0, 3.0):
        z = size * generator.standard_normal(length)
        cotangent = generator.standard_normal(kernel.n_outputs)
        outputs, gradient = kernel(z, cotangent)
        # Roundings of short sums; tanh and exp are good to an ulp or two.
        np.testing.assert_allclose(outputs, expected.value(z), rtol=1e-12, atol=1e-14)
        pulled = cotangent @ expected.jacobian(z)
        np.testing.assert_allclose(gradient, pulled, rtol=1e-11, atol=1e-12)


@each_student
@each_length
def test_gradient_is_that_of_the_outputs(name, length):
    kernel, _ = setting(name, length)
    generator = np.random.default_rng(10 + length)
    z, step = generator.standard_normal(length), 1e-5
    cotangent = generator.standard_normal(kernel.n_outputs)
    _, gradient = kernel(z, cotangent)
    for token in range(length):
        shift = step * np.eye(length)[token]
        difference = (kernel(z + shift)[0] - kernel(z - shift)[0]) / (2 * step)
        # Truncation step^2 f'''/6 below 1e-9, rounding 1e-16 / step = 1e-11.
        assert gradient[token] == pytest.approx(cotangent @ difference, abs=1e-8)


@pytest.mark.parametrize("name", ["identity", "trace", "projection"])
@each_length
def test_attention_does_not_overflow(name, length):
    kernel, expected = setting(name, length)
    generator = np.random.default_rng(20)
    for size in (30.0, 1e3, 1e100):
        z = size * generator.standard_normal(length)
        outputs, gradient = kernel(z)
        assert np.all(np.isfinite(outputs))
        assert np.all(np.isfinite(gradient))
        np.testing.assert_allclose(outputs, expected.value(z), rtol=1e-9, atol=1e-12)


def test_attention_with_equal_and_with_zero_fields():
    for z in (np.zeros(3), np.full(3, 2.0), np.full(3, -2.0), np.array([1.0, -1.0, 1.0])):
        kernel, expected = setting("identity", 3)
        np.testing.assert_allclose(kernel(z)[0], expected.value(z), rtol=1e-14)
    assert kernel(np.zeros(3))[0] == pytest.approx(np.full(9, 1 / 3), rel=1e-15)


def test_rows_of_attention_sum_to_one_and_attention_is_even():
    kernel, _ = setting("identity", 5)
    z = np.random.default_rng(30).standard_normal(5)
    outputs, _ = kernel(z)
    np.testing.assert_allclose(outputs.reshape(5, 5).sum(axis=1), 1.0, rtol=1e-14)
    assert np.array_equal(outputs, kernel(-z)[0])


@pytest.mark.parametrize("activation", ["tanh", "sigmoid", "erf", "relu"])
def test_saturating_networks_do_not_overflow(activation):
    kernel, expected = setting(f"tied {activation}", 2)
    for size in (50.0, 1e5, 1e200):
        for sign in (1, -1):
            z = sign * size * np.array([1.0, 0.5])
            outputs, gradient = kernel(z)
            assert np.all(np.isfinite([*outputs, *gradient]))
            np.testing.assert_allclose(outputs, expected.value(z), rtol=1e-12, atol=1e-300)


@each_student
def test_nan_is_kept(name):
    kernel, _ = setting(name, 2)
    outputs, gradient = kernel(np.array([np.nan, 1.0]))
    assert np.all(np.isnan(outputs[:2]))
    assert np.any(np.isnan(gradient)) or name in ("tied identity", "tied relu")


def test_linear_attention_is_the_square_network():
    assert LinearAttention().kernel_pieces(2) == TiedNetwork("square").kernel_pieces(2)


def test_known_values():
    kernel, _ = setting("trace", 2)
    # Rows (e, 1)/(e + 1) and (1, e)/(1 + e) at z = (1, 0)... the second row is (1, 1)/2.
    assert kernel(np.array([1.0, 0.0]))[0][0] == pytest.approx(2 * (np.e / (np.e + 1) + 0.5))


@pytest.mark.parametrize(
    "student",
    [
        Attention(),
        Attention("identity", 2.0),
        Attention("projection", 1.0, (1.0, 2.0), (3.0, 4.0)),
        LinearAttention(0.5),
        TiedNetwork(),
        TiedNetwork("s^3 - 2*s", 2),
    ],
    ids=repr,
)
def test_tables_round_trip(student):
    assert Student.from_table(student.to_table()) == student


def test_numbers_of_outputs():
    assert Attention("identity").n_outputs(5) == 25
    assert Attention("trace").n_outputs(5) == 1
    assert TiedNetwork().n_outputs(5) == 1


@pytest.mark.parametrize("activation", ["tanh", "erf", "square", "He7", "exp(s) - s", "3"])
def test_smooth_activations(activation):
    assert TiedNetwork(activation).is_smooth(2)


@pytest.mark.parametrize("activation", ["relu", "abs(s)", "max(s, 0)", "log(1 + s^2)", "tan"])
def test_activations_that_are_not_known_to_be_smooth(activation):
    assert not TiedNetwork(activation).is_smooth(2)


@pytest.mark.parametrize(
    ("table", "part"),
    [
        ({"kind": "atention"}, "did you mean 'attention'?"),
        ({"kind": "attention", "reduction": "trase"}, "did you mean 'trace'?"),
        ({"kind": "attention", "reduction": 3}, "reduction"),
        ({"kind": "attention", "scale": "1"}, "student scale"),
        ({"kind": "attention", "scale": [1]}, "student scale"),
        ({"kind": "attention", "activation": "relu"}, "key of student 'attention'"),
        ({"kind": "attention", "reduction": "projection"}, "needs 'left'"),
        ({"kind": "attention", "reduction": "projection", "left": [1]}, "needs 'right'"),
        ({"kind": "attention", "reduction": "projection", "left": 1, "right": [1]}, "left"),
        ({"kind": "attention", "reduction": "trace", "left": [1]}, "takes no 'left'"),
        ({"kind": "linear-attention", "activation": "relu"}, "allowed: scale"),
        ({"kind": "linear-attention", "scale": True}, "student scale"),
        ({"kind": "tied", "activation": "rellu"}, "did you mean 'relu'?"),
        ({"kind": "tied", "activation": 3}, "text"),
        ({"kind": "tied", "activation": ["relu"]}, "text"),
        ({"kind": "tied", "activation": {"a": 1}}, "text"),
        ({"kind": "tied", "activation": "z1 + s"}, "z1"),
        ({"kind": "tied", "activation": "s*b"}, "uses b"),
        ({"kind": "tied", "activation": "[s, s]"}, "several outputs"),
        ({"kind": "tied", "activation": ""}, "empty"),
        ({"kind": "tied", "activatoin": "relu"}, "did you mean 'activation'?"),
        ({"kind": "tied", "scale": float("inf")}, "inf"),
    ],
)
def test_bad_students_are_refused(table, part):
    refuses(lambda: Student.from_table(table), part)


def test_projection_vectors_need_one_entry_per_token():
    student = Attention("projection", left=(1.0, 2.0), right=(1.0, 2.0, 3.0))
    refuses(lambda: student.kernel_parameters(2), "right has 3")
    refuses(lambda: student.kernel_parameters(3), "left has 2")


@pytest.mark.parametrize("activation", ["sign", "heaviside(s - 1)"])
def test_an_activation_without_derivative_is_refused(activation):
    refuses(lambda: TiedNetwork(activation), "jump", "derivative")


@pytest.mark.parametrize("expression", ["sign(z1)", "max(z1, z2)*heaviside(z1 - 1)"])
def test_expressions_with_jumps_are_refused(expression):
    student = ExpressionStudent(expression)
    refuses(lambda: student.kernel_pieces(2), "has a jump", "derivative", "relu")
