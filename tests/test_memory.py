import pytest

from ssiode import memory
from ssiode.memory import require_memory
from tests.checks import refuses


def test_the_limit_of_a_container_counts(monkeypatch, tmp_path):
    unlimited = memory.total_memory.__wrapped__()
    assert 1e8 < unlimited < 1e15
    monkeypatch.setattr(memory, "_CONTAINER_LIMIT", tmp_path / "memory.max")
    (tmp_path / "memory.max").write_text("123456\n")
    assert memory.total_memory.__wrapped__() == 123456
    (tmp_path / "memory.max").write_text("max\n")
    assert memory.total_memory.__wrapped__() >= unlimited


@pytest.mark.parametrize(("floats", "fits"), [(100, True), (125, True), (126, False)])
def test_memory_is_compared_with_what_there_is(monkeypatch, floats, fits):
    monkeypatch.setattr(memory, "total_memory", lambda: 1000.0)
    if fits:
        require_memory({"d": floats})
    else:
        refuses(lambda: require_memory({"d": floats}), "1.01 kB", "1 kB", "lower d")


def test_the_largest_part_is_what_to_lower():
    refuses(lambda: require_memory({"d": 1e14, "replicas": 1e15}), "8.8 PB", "lower replicas")
