"""The threshold of weak recovery."""

import pytest

from ssiode import InputError
from ssiode.recovery import DEFAULT_THRESHOLD, check_threshold


@pytest.mark.parametrize("eta", [1e-300, 0.5, 1, 1.0])
def test_thresholds_up_to_full_overlap_are_allowed(eta):
    assert check_threshold(eta) == eta
    assert type(check_threshold(eta)) is float


@pytest.mark.parametrize(
    "eta", [0, -0.5, 1.0000001, float("nan"), float("inf"), "half", None, True]
)
def test_other_thresholds_are_refused_in_one_line(eta):
    with pytest.raises(InputError, match="threshold eta") as caught:
        check_threshold(eta)
    assert "\n" not in str(caught.value)


def test_the_default_is_allowed():
    assert check_threshold(DEFAULT_THRESHOLD) == 0.5
