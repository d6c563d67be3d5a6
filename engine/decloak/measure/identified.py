"""How many records somebody finds with certainty who knows a few items of a person."""

from decloak.measure.breach import FAMILY as BREACH
from decloak.measure.family import CHUNKS, POOLED, AttackedRelease, Family, FigureTitle, Measured
from decloak.releases.held import UNKNOWN, HeldChunks
from decloak.store.attackers import attacker_of, read_knowledge

__all__ = ["FAMILY"]

SKIPPED = "identified counts nobody of {} clusters that are too large, or too entangled, to go through"


def _measure(attacked: AttackedRelease[HeldChunks]) -> Measured:
    from decloak.measure.kernels.identified import identified

    attacker, unknown = attacker_of(attacked.connection, attacked.number)
    if unknown is not None:
        return [], None  # the run says it of the attacker
    rows = attacked.release.rows
    if rows is None:
        return [], UNKNOWN.format("the number of records that are identified")
    known = read_knowledge(attacked.connection, attacker)
    told = identified(attacked.release.published, *rows, known)
    count = len(told.records)
    note = SKIPPED.format(told.skipped) if told.skipped else None
    return [(POOLED, "identified_records", count, count, len(rows.records))], note


FAMILY = Family(
    name="identified",
    about="Whom what an attacker knows of persons leads to with certainty",
    figures=(
        FigureTitle(
            "identified_records", "identified", "records that alone can hold what is known of a person", count=True
        ),
    ),
    measure=_measure,
    fits=CHUNKS,
    columns=BREACH.columns,
    knowing=True,
)
