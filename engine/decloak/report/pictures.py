"""The pictures of `decloak plot`: one object per picture, which returns its panels."""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from decloak.errors import DecloakError
from decloak.report import charts
from decloak.report.reliability import reliability_panels
from decloak.report.study import Study

__all__ = ["PICTURES", "Picture"]

Panels = list[dict[str, object]]
Options = Mapping[str, str | None]


@dataclass(frozen=True)
class Picture:
    """A kind of picture: its description, its notes, and its panels by these and by the keys of --by."""

    name: str
    about: str
    needs: tuple[str, ...]
    draw: Callable[[sqlite3.Connection, Study, Options, Sequence[str]], Panels]

    def panels(self, connection: sqlite3.Connection, study: Study, options: Options, by: Sequence[str]) -> Panels:
        """Return the panels. Missing options, and options without effect, raise an error."""
        for name, value in options.items():
            if name in self.needs and value is None:
                raise DecloakError(f"--of {self.name} needs --{name}", hint="`decloak plot --help` says what that is")
            if name not in self.needs and value is not None:
                raise DecloakError(f"--of {self.name} takes no --{name}", hint="leave it out")
        return self.draw(connection, study, options, by)


def _figure(connection: sqlite3.Connection, study: Study, options: Options, by: Sequence[str]) -> Panels:
    return charts.panels(study, options["x"] or "", options["y"] or "", by)


def _reliability(connection: sqlite3.Connection, study: Study, options: Options, by: Sequence[str]) -> Panels:
    return reliability_panels(connection, study, by)


PICTURES = {
    picture.name: picture
    for picture in (
        Picture("figure", "a figure (--y) along what varies (--x)", ("x", "y"), _figure),
        Picture("reliability", "share of correct findings by stated probability", (), _reliability),
    )
}
