"""The gallery's README names the functions with which experiments are written."""

from __future__ import annotations

from pathlib import Path

import tailback.gallery


def test_the_gallerys_readme_names_every_helper() -> None:
    text = (Path(tailback.gallery.__file__).parent / "README.md").read_text()
    from tailback.plotting import experiment as figures
    from tailback.results import observables as metrics

    for name in (*metrics.__all__, *figures.__all__):
        assert name in text, name
    for name in (
        "is_zero",
        "within",
        "close_to",
        "equals",
        "non_decreasing",
        "non_increasing",
        "somewhere",
        "calibrated",
        "comparison",
        "unasserted",
    ):
        assert name in text, name
