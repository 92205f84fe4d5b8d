import pytest


@pytest.mark.slow
def test_the_main_job(ssiode, tmp_path):
    figure = tmp_path / "demo.png"
    data = ssiode("demo", "--figure", figure, "--json").json
    assert data["sie"]["sie"] == 2
    assert data["sie"]["status"] == "proved"
    assert data["agrees"] is True
    assert data["expected_fluctuation"] < 0.1
    # Learning: the semantic overlap grows from 0.2 and the positional one dies out.
    assert data["ode"]["m"][-1] > 0.7
    assert abs(data["ode"]["e"][-1][0]) < 1e-2
    assert figure.read_bytes().startswith(b"\x89PNG")


def test_a_figure_of_an_unknown_format_is_refused(ssiode):
    assert ssiode("demo", "--figure", "demo.gif").refuses(".png")
