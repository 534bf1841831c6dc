"""Points of a study, chosen from its axes: grids, lists, random draws and Latin hypercubes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import product
from typing import TypeAlias, cast

from tailback.errors import UsageError
from tailback.scenario import Value
from tailback.scenario.quantities import amount, factor

__all__ = ["Chosen", "points"]

Chosen: TypeAlias = "tuple[Value, str]"
"""A value of an axis, and its place in the axis's table: such as `values[2]`, or `range`."""


def points(design: Mapping[str, Value], axes: Sequence[Mapping[str, Value]]) -> Iterator[tuple[Chosen, ...]]:
    """Yield the points of a checked study, each with one value per axis; in a grid the last axis varies fastest.

    Raises UsageError if the design is `latin-hypercube` and SciPy is missing.
    """
    kind = design["kind"]
    if kind == "grid":
        yield from product(*map(_listed, axes))
    elif kind == "list":
        yield from zip(*map(_listed, axes), strict=True)
    else:
        shares = _drawn(str(kind), cast(int, design["samples"]), len(axes), cast(int, design.get("seed", 1)))
        for row in shares:
            yield tuple(_at(axis, share) for axis, share in zip(axes, row, strict=True))


def _listed(axis: Mapping[str, Value]) -> list[Chosen]:
    """Return the values of an axis in order; those of a range are its steps."""
    if "values" in axis:
        return [(value, f"values[{i}]") for i, value in enumerate(cast("Sequence[Value]", axis["values"]))]
    steps = cast(int, cast("Mapping[str, Value]", axis["range"])["steps"])
    return [_at(axis, i / (steps - 1)) for i in range(steps)]


def _drawn(kind: str, samples: int, count: int, seed: int) -> list[list[float]]:
    """Return random numbers in [0, 1): `samples` rows with a column for each of `count` axes."""
    import numpy as np

    generator = np.random.default_rng(seed)
    if kind == "random":
        return cast("list[list[float]]", generator.random((samples, count)).tolist())
    try:
        from scipy.stats import qmc
    except ModuleNotFoundError as error:
        raise UsageError(f"{error.name} is missing: pip install 'tailback[sweep]'") from None
    return cast("list[list[float]]", qmc.LatinHypercube(count, rng=generator).random(samples).tolist())


def _at(axis: Mapping[str, Value], share: float) -> Chosen:
    """Return the value at a fraction of an axis, 0 for its first value to 1 for its last, and the value's place."""
    if "values" in axis:
        values = cast("Sequence[Value]", axis["values"])
        index = min(int(share * len(values)), len(values) - 1)
        return values[index], f"values[{index}]"
    range_ = cast("Mapping[str, Value]", axis["range"])
    ends = (range_["from"], range_["to"])
    if share in (0.0, 1.0):
        return ends[int(share)], "range"
    (first, unit), (last, other) = (cast("tuple[float, str]", amount(end)) for end in ends)
    if unit != other:
        # Both ends are multiples of one unit; the values between are written in the unit of the first end.
        first_factor, last_factor = (cast("tuple[str, float]", factor(name))[1] for name in (unit, other))
        last *= last_factor / first_factor
    if range_["scale"] == "log":
        found = math.exp(math.log(first) + share * (math.log(last) - math.log(first)))
    else:
        found = first + share * (last - first)
    if all(isinstance(end, int) for end in ends):
        return round(found), "range"
    digits = f"{found:.{cast(int, range_['digits'])}g}"
    if not unit:
        return float(digits), "range"
    # The number has no exponent, since the parser of units does not read "1e+05".
    return f"{Decimal(digits):f}{unit}", "range"
