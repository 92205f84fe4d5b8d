"""Sizes that are known when a kernel is linked, 0 where they are not: the linker puts them here."""

LENGTH = 0
RANK = 0
ROWS = 0
OUTPUTS = 0
