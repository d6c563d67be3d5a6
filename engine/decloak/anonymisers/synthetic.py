"""Method synthetic: records drawn from a model, as the baseline of methods that publish records."""

from typing import ClassVar, Literal

from pydantic import Field

from decloak.anonymisers.kernels.mixture import draw_private, draw_records, fit_mixture
from decloak.anonymisers.method import Anonymiser, Method, MethodOptions, NewRelease, Stopwatch, item_matrix
from decloak.checks import check_whole
from decloak.data.dataset import Dataset
from decloak.data.formats.folder import Folder
from decloak.data.forms import FormName
from decloak.data.published import Synthetic
from decloak.data.rows import CodedRows, RowLabels
from decloak.errors import DecloakError
from decloak.relate.counting import Cache
from decloak.yaml.section import ConfigErrors

PARTS = 200
SEEDED = (
    "WARNING: the noise follows from a seed that depends on the data, so this release does not meet its epsilon. To "
    "publish, use decloak.anonymise(data, 'synthetic', epsilon=...) without a seed"
)


def _make(data: Dataset, options: MethodOptions) -> Synthetic:
    """Return synthetic records for `data`, as many as it has, or nearly as many with epsilon."""
    epsilon, seed = options.get("epsilon"), options.get("seed")
    records = item_matrix(data)
    if epsilon is None:
        parts = options.get("parts", PARTS)
        check_whole(1, parts=parts)
        seed = 0 if seed is None else seed
        drawn = draw_records(fit_mixture(records, parts, seed), records.shape[0], seed)
    elif isinstance(epsilon, int | float) and 0 < epsilon < float("inf"):
        drawn = draw_private(records, float(epsilon), seed)
    else:
        raise DecloakError("epsilon is no positive number", hint="give such as epsilon=1")
    rows = CodedRows(drawn.indptr, drawn.indices, data.items)
    return Synthetic(rows, RowLabels(drawn.shape[0]), data.origin)


class SyntheticMethod(Method):
    """Synthetic records: a baseline that every method which publishes records has to beat."""

    form: ClassVar = FormName.SYNTHETIC
    anonymisers: ClassVar = (Anonymiser("synthetic", _make, lambda *_: (), frozenset(), {"parts", "epsilon", "seed"}),)

    method: Literal["synthetic"]
    """The name of the method."""
    parts: int = Field(PARTS, ge=1, le=2_000)
    """The number of parts of the mixture. Within a part, items are independent."""
    epsilon: float | None = Field(None, gt=0)
    """Differential privacy with this epsilon: noise on the supports of items and pairs, in place of the mixture."""

    @property
    def is_random(self) -> bool:
        """True: the records are drawn."""
        return True

    def config_errors(self) -> ConfigErrors:
        """Yield errors for an order of records, and for parts with epsilon."""
        if self.order == "recorded":
            yield ("order",), DecloakError("synthetic records have no recorded order", hint="delete it")
        if self.epsilon is not None and "parts" in self.model_fields_set:
            yield ("parts",), DecloakError("with epsilon there is no mixture", hint="delete one of the two")

    def check(self, data: Dataset, folder: Folder) -> None:
        """Raise an error if `data` have no item. `folder` is not used."""
        if not data.items:
            raise DecloakError("no items to learn a model from", hint="are these the right data?")

    def make(self, data: Dataset, folder: Folder, seed: int, cache: Cache | None = None) -> NewRelease[Synthetic]:
        """Return records drawn with `seed`. `folder` and `cache` are not used."""
        settings = {"epsilon": self.epsilon} if self.epsilon is not None else {"parts": self.parts}
        clock = Stopwatch()
        release = self.anonymiser(data, {**settings, "seed": seed})
        suppressed = sorted(set(data.items) - set(release.rows.used_names))
        notes = [] if self.epsilon is None else [SEEDED]
        loss = {"suppressed": len(suppressed), **clock.seconds}
        return NewRelease(release, self.method, {**settings, "seed": seed}, loss, suppressed=suppressed, notes=notes)
