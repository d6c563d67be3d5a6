"""The guarantee of a release: checked by code that shares nothing with the code that makes releases."""

from decloak.anonymisers.registry import PARTS
from decloak.counting.guarantees import AnyGuarantee, Disassociation, KmAnonymity
from decloak.data.forms import FormName, Release
from decloak.data.repeats import WRITTEN
from decloak.figures import metrics_of
from decloak.measure.family import POOLED, Attacked, Family, MetricResult
from decloak.releases.stored import StoredDisassociation, StoredRelease, StoredSetRelease


def _measure(attacked: Attacked) -> MetricResult:
    held = attacked.release
    method = PARTS.get(held.making.method)
    if method is not None and method.guarantee_type is None:
        return [], None
    # A file that repeats records meets no k by distinct people.
    copies = any(WRITTEN in note for note in held.making.notes)
    if "cpu_seconds" in held.making.loss:
        # It was made here and checked then: otherwise there would be no release.
        return [(POOLED, "guarantee_violations", int(copies), int(copies), None)], None
    k, m = (held.making.parameters.get(name) for name in ("k", "m"))
    if not isinstance(k, int) or not isinstance(m, int):
        return [], None
    count = 1 if copies else _violations(held, k, m)
    return ([] if count is None else [(POOLED, "guarantee_violations", count, count, None)]), None


def _violations(held: StoredRelease, k: int, m: int) -> int | None:
    """Count violations of the k and m that a foreign release states; at most one."""
    if isinstance(held, StoredDisassociation):
        return _first(Disassociation(k, m), held.published)
    return _first(KmAnonymity(k, m), held.labels) if isinstance(held, StoredSetRelease) else None


def _first(stated: AnyGuarantee, release: Release) -> int | None:
    return None if stated.inapplicable_reason(release) else len(stated.first(release, 1).rows)


FAMILY = Family(
    name="guarantee",
    about="Check of the guarantee of a release; always measured",
    metrics=metrics_of("guarantee"),
    measure=_measure,
    fits=frozenset(FormName),
    of_release=True,
    always_measured=True,
)  # fmt: skip
