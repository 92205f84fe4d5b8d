import numpy as np
import pytest

from ssiode.complexity import SampleComplexity
from ssiode.recovery_scaling.law import RecoveryLaw


@pytest.mark.parametrize("order", [1, 2, 3, 4, 5])
def test_steps_are_time_times_d_over_the_rate(order):
    law = RecoveryLaw(order)
    d = np.array([100.0, 1e4])
    times = {1: d**0, 2: np.log(d)}.get(order, d ** (order / 2 - 1))
    for i in range(2):
        assert law.steps(d[i]) == pytest.approx(times[i] * d[i] / law.rate(d[i]), rel=1e-12)
    assert law.text == SampleComplexity.of(order).samples


@pytest.mark.parametrize("method", ["chain", "sgd"])
@pytest.mark.parametrize("order", [1, 2, 3, 4, 5, 8])
def test_default_dimensions_can_be_run(order, method):
    dims = RecoveryLaw(order).default_dims(method)
    assert list(dims) == sorted(set(dims))
    assert len(dims) >= 5
    assert dims[0] >= 50
    assert dims[-1] >= 4 * dims[0]
    if order <= 4:
        assert RecoveryLaw(order).steps(dims[-1]) < 3e8


def test_the_chain_covers_the_decades_of_the_demonstrations():
    for order, last in ((1, 1e6), (2, 1e6), (3, 1e4)):
        dims = RecoveryLaw(order).default_dims("chain")
        assert (dims[0], dims[-1]) == (100, last)
