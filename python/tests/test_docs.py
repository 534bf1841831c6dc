"""The gallery's README names every function with which an experiment is written."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import tailback.gallery
from tailback.plotting import experiment as experiment_figures
from tailback.results import observables
from tailback.study.experiment import Claim, Condition, Quantity


def code(page: str) -> str:
    """Return the inline code of a page, one span per line: names such as `loss` are ordinary words elsewhere."""
    return "\n".join(re.findall(r"`([^`\n]+)`", page))


def public(cls: type) -> dict[str, Any]:
    """Return the public functions of a class, class methods included."""
    found = {name: getattr(cls, name) for name in vars(cls) if not name.startswith("_")}
    return {name: value for name, value in found.items() if inspect.isroutine(value)}


def conditions() -> set[str]:
    """Return the methods that make a condition of a quantity or of another condition."""
    methods = {**public(Quantity), **public(Condition)}
    made = {name for name, method in methods.items() if inspect.signature(method).return_annotation == "Condition"}
    # `Claim.comparison` calls it; experiments do not.
    return made - {"as_shown"}


def test_the_gallerys_readme_shows_a_call_of_every_function_for_experiments() -> None:
    page = code((Path(tailback.gallery.__file__).parent / "README.md").read_text())
    # `Verdict` and the words of a claim are results. Its class methods make claims of another kind.
    claims = {name for name, method in public(Claim).items() if inspect.ismethod(method)}
    assert {"is_zero", "somewhere"} <= conditions()
    assert "calibrated" in claims
    for name in (*observables.__all__, *experiment_figures.__all__, *conditions(), *claims):
        assert re.search(rf"\b{name}\(", page), name
