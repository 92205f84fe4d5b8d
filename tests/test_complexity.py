import math
import re
from fractions import Fraction

import pytest

from ssiode.complexity import SampleComplexity, restricted_complexity
from ssiode.hermite.coefficient import Verdict
from tests.checks import refuses


def power_and_logs(text):
    """Read 'd log^2 d', '1/log d', 'd^(-1/2)', ... as powers of d and of log d."""
    logs = 0
    if found := re.search(r"(1/)?log(?:\^(\d+))? d", text):
        logs = int(found[2] or 1) * (-1 if found[1] else 1)
        text = text.replace(found[0], "").strip()
    if text in ("", "1"):
        return Fraction(0), logs
    found = re.fullmatch(r"d(?:\^\(?(-?\d+(?:/\d+)?)\)?)?", text)
    assert found, text
    return Fraction(found[1] or 1), logs


@pytest.mark.parametrize(
    ("exponent", "samples", "learning_rate", "time"),
    [
        (1, "d", "1", "1"),
        (2, "d log^2 d", "1/log d", "log d"),
        (3, "d^2", "d^(-1/2)", "d^(1/2)"),
        (4, "d^3", "d^(-1)", "d"),
        (5, "d^4", "d^(-3/2)", "d^(3/2)"),
        (6, "d^5", "d^(-2)", "d^2"),
    ],
)
def test_scales_of_the_theorem(exponent, samples, learning_rate, time):
    found = SampleComplexity.of(exponent)
    assert found == SampleComplexity(exponent, samples, learning_rate, time)


@pytest.mark.parametrize("exponent", range(1, 12))
def test_samples_are_time_times_dimension_over_learning_rate(exponent):
    found = SampleComplexity.of(exponent)
    samples, rate, time = map(power_and_logs, (found.samples, found.learning_rate, found.time))
    assert samples == (time[0] + 1 - rate[0], time[1] - rate[1])


def test_exponents_that_do_not_exist_are_refused():
    refuses(lambda: SampleComplexity.of(0), "exponent is 0")
    refuses(lambda: SampleComplexity.of(math.nan), "exponent is nan")


def test_an_odd_leading_order_is_passed_over():
    found = restricted_complexity({1: "nonzero", 2: Verdict.NONZERO}, 2)
    assert (found.status, found.exponent, found.at_least) == ("proved", 2, 2)
    assert found.complexity == SampleComplexity.of(2)
    assert found.sentence == (
        "the leading order 1 is odd: attention without positional encoding or injection sees only "
        "the even part of the target, whose exponent is 2"
    )


def test_an_even_leading_order_is_kept():
    found = restricted_complexity(lambda order: "nonzero" if order == 4 else "zero", 9)
    assert found.exponent == 4
    assert found.complexity.samples == "d^3"
    assert found.sentence.startswith("the leading order 4 is even: ")


def test_odd_polynomials_are_constant_to_an_even_student():
    found = restricted_complexity({1: "zero", 2: "zero", 3: "nonzero"}, 3, is_last=True)
    assert (found.status, found.exponent, found.at_least) == ("constant", None, None)
    assert found.complexity is None
    assert "order 3 is odd" in found.sentence
    assert "which is constant" in found.sentence


def test_doubt_in_an_odd_order_does_not_matter():
    found = restricted_complexity({1: "undecided", 2: "zero", 3: "undecided", 4: "nonzero"}, 4)
    assert found.exponent == 4
    assert "leading order" not in found.sentence


def test_doubt_in_an_even_order_is_reported():
    found = restricted_complexity({1: "nonzero", 2: "zero", 4: "undecided", 6: "nonzero"}, 6)
    assert (found.status, found.exponent, found.at_least) == ("undetermined", None, 4)
    assert "at least 4" in found.sentence


@pytest.mark.parametrize(("last_order", "at_least"), [(0, 2), (1, 2), (2, 4), (3, 4), (4, 6)])
def test_orders_not_looked_at_stay_open(last_order, at_least):
    found = restricted_complexity(lambda order: "zero", last_order)
    assert (found.status, found.at_least) == ("undetermined", at_least)


def test_orders_left_out_of_a_mapping_are_undecided():
    assert restricted_complexity({4: "nonzero"}, 4).at_least == 2


def test_a_verdict_that_is_none_is_refused():
    refuses(lambda: restricted_complexity({2: "maybe"}, 2), "order 2", "maybe", "undecided")
