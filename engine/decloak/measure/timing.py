"""What an attack took, and the detection of the breaches that it found; no two runs have that in common."""

from time import process_time

from decloak.data.forms import FormName
from decloak.measure.breach import FAMILY as BREACH
from decloak.measure.family import POOLED, AttackedRelease, Family, Figure, FigureTitle, Measured
from decloak.measure.kernels.statistics import COUNT
from decloak.releases.held import HeldChunks, HeldRelease
from decloak.store.attackers import attacker_of, read_knowledge
from decloak.store.reading import read_covers, seconds_of

__all__ = ["FAMILY"]


def _measure(attacked: AttackedRelease[HeldRelease]) -> Measured:
    taken = seconds_of(attacked.connection, attacked.number)
    figures: list[Figure] = [(POOLED, f"attack_{name}", value, None, None) for name, value in taken.items()]
    if isinstance(attacked.release, HeldChunks) and BREACH.columns.issubset(attacked.derives.columns):
        detection = _detection(attacked, attacked.release)
        figures.append((POOLED, "detection_seconds", detection, None, None))
    return figures, None if taken else "what the attack took is not known: an older version of decloak ran it"


def _detection(attacked: AttackedRelease[HeldRelease], release: HeldChunks) -> float | None:
    """CPU seconds of going through cover problems with what the attacker knows."""
    from decloak.attack.breach import breach_total
    from decloak.attack.cover import covers_of

    attacker, unknown = attacker_of(attacked.connection, attacked.number)
    if unknown is not None:
        return None
    relation = attacked.derives.name
    knowledge = read_knowledge(attacked.connection, attacker)
    problems = list(covers_of(release.published, relation, read_covers(attacked.connection, attacked.number, relation)))
    before = process_time()
    breach_total(release.published, problems, knowledge, "sound")
    return process_time() - before


FAMILY = Family(
    name="time",
    about="What an attack took, by which only attacks can be compared",
    figures=(
        FigureTitle("attack_cpu_seconds", "attack CPU s", "seconds of work it took", bounds=COUNT, clock=True),
        FigureTitle("attack_seconds", "attack s", "the same by the clock", bounds=COUNT, clock=True, column=False),
        FigureTitle(
            "detection_seconds", "detection s", "seconds of work to detect breaches",
            bounds=COUNT, clock=True,
        ),
    ),
    measure=_measure,
    fits=frozenset(FormName),
)  # fmt: skip
