"""The lab in a cell of a notebook."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from tailback.errors import UsageError
from tailback.scenario import Scenario, load
from tailback.web import folder, read
from tailback.web.address import opening

__all__ = ["Lab"]

_INSTALL = "the lab in a notebook needs anywidget: pip install 'tailback[notebook]'"


class Lab:
    """The lab with a scenario, as the last value of a cell of a notebook.

        tailback.Lab("scenario.toml")

    The cell has the network, the controls and the plots of the page that `tailback lab` serves. The page is sent to the
    notebook with the cell; nothing is loaded from a network, and what is changed in the cell does not come back. Needs
    `pip install 'tailback[notebook]'`; without it, the cell says so.
    """

    def __init__(self, scenario: Scenario | str | PathLike[str], *, seed: int | None = None, height: int = 720) -> None:
        """Check a scenario for the lab.

        Args:
            scenario: A scenario, or the path of its file.
            seed: Seed of the run. Default: that of the scenario.
            height: Height of the cell, CSS pixels.

        Raises:
            ScenarioError: The scenario is invalid.
            UsageError: The lab cannot run it, or was not built.
            ValueError: The height is not above 0.

        """
        if height <= 0:
            raise ValueError(f"a height of {height} pixels is not above 0")
        written = None
        if not isinstance(scenario, Scenario):
            path = Path(fspath(scenario))
            scenario = load(path)
            # The text as it was written has comments.
            written = path.read_text(encoding="utf-8") if path.suffix == ".toml" else None
        self.scenario = scenario.check()
        """The scenario at the start."""
        self.height = height
        """Height of the cell, CSS pixels."""
        self.fragment = opening(scenario, written, seed)
        """Fragment of the lab's address, `#` included, which holds scenario and seed."""
        self._made: Any = None

    @property
    def widget(self) -> Any:
        """The widget of anywidget, to be placed among other widgets; raises UsageError without anywidget."""
        if self._made is None:
            page = folder() / "lab" / "index.html"
            if not page.is_file():
                raise UsageError("this installation has no lab: run `make lab` in the source folder")
            made = _widget_class()
            self._made = made(page=page.read_bytes(), fragment=self.fragment, height=self.height)
        return self._made

    def __repr__(self) -> str:
        return f"<Lab {self.scenario.title!r}>"

    def _repr_mimebundle_(self, include: Collection[str] | None = None, exclude: Collection[str] | None = None) -> Any:
        """Return the widget for a notebook, or why there is none."""
        del include, exclude
        try:
            return self.widget._repr_mimebundle_()
        except UsageError as error:
            return {"text/plain": f"{self!r}: {error}"}


@cache
def _widget_class() -> Any:
    """Return the class of the widget, whose values `web/src/notebook/widget.ts` reads."""
    try:
        import anywidget
        import traitlets
    except ImportError as error:
        raise UsageError(_INSTALL) from error

    class LabWidget(anywidget.AnyWidget):  # type: ignore[misc]
        _esm = read("widget.js")
        page = traitlets.Bytes().tag(sync=True)
        fragment = traitlets.Unicode().tag(sync=True)
        height = traitlets.Int().tag(sync=True)

    return LabWidget
