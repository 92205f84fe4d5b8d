from validation.benchmarks import exponent


def test_the_polynomial_has_the_promised_size():
    text = exponent.random_polynomial()
    monomials = [term.partition(")*")[2] for term in text.split(" + ")]
    degrees = [sum(int(f.split("^")[1]) for f in m.split("*")) for m in monomials]
    assert len(degrees) == exponent.TERMS
    assert max(degrees) == exponent.DEGREE
    assert {f.split("^")[0] for m in monomials for f in m.split("*")} == {
        f"z{token}" for token in range(1, exponent.TOKENS + 1)
    }
    assert exponent.random_polynomial() == text


def test_every_time_is_measured():
    assert exponent.polynomial_seconds(terms=5, rounds=1) > 0
    examples = exponent.example_seconds(rounds=1)
    assert examples.keys() == exponent.PAPER_EXAMPLES.keys()
    assert all(taken > 0 for taken in examples.values())


def test_processes_take_turns():
    taken = exponent.process_seconds(rounds=1)
    assert {name: len(times) for name, times in taken.items()} == {
        "import sympy": 1,
        "ssiode sie": 1,
    }
    assert all(ratio > 0 for ratio in exponent.process_ratio(taken))
