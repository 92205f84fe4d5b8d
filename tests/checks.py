"""Checks that several test modules share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ssiode.errors import InputError


def refuses(call: Callable[[], Any], *parts: str) -> None:
    """Check that a call raises an `InputError` of one readable line that contains the parts."""
    with pytest.raises(InputError) as caught:
        call()
    text = str(caught.value)
    assert "\n" not in text
    assert text.isprintable()
    assert 10 < len(text) < 300
    for part in parts:
        assert part in text, (part, text)
