"""The screen of an advice: at most 24 lines of 110 columns, and the same as a value for JSON.

It names the worst first, gives people and limits, and never says that a release is without risk. The table is never cut
before the leading candidate.
"""

import json
import textwrap
from collections.abc import Iterator, Sequence

from decloak.advice.candidates import Tried, nearest_changes
from decloak.advice.writing import Advised
from decloak.data.representation import Table, html_lines, shorten
from decloak.digest import JsonObject
from decloak.errors import escape_control, quote
from decloak.scenario.criteria import RISK, Criterion, Ranged

WIDTH, LINES, LABEL = 110, 24, 15
ROWS = 8
"""Candidates in the table, at most."""
SOURCES = (
    "probability 1/11 of EMA Policy 0070 and Health Canada; other limits are ours: WP216, EDPB, ISO 27559, NIST and "
    "HIPAA name no figure. Upper ends of 95% intervals are compared."
)
END = "Releases are measured without the control group. This is no proof of safety."


class Advice(Advised):
    """The result of `advise`: it prints the screen, shows a table in a notebook, and writes a scenario."""

    def __str__(self) -> str:
        """Return the screen."""
        head = [*_head(self), *_result(self), *_counts(self), ""]
        foot = [*_next(self), *_criteria(self), *_untried(self), *_line("", _end(self))]
        # One line is the heading of the table.
        return "\n".join([*head, *_table(self, LINES - len(head) - len(foot) - 1), *foot])

    def __repr__(self) -> str:
        """Return the result in one line."""
        lead = "no candidate" if self.lead is None else self.lead.candidate.name
        met = "meets" if self.passes else "no candidate meets"
        whose = lead if self.passes else f"nearest: {lead}"
        return shorten(escape_control(f"<Advice on {self.records:,} records: {met} {self.by.name!r}; {whose}>"))

    def _repr_html_(self) -> str:
        """Return the screen without its table, and the table of all candidates, as HTML that fetches nothing."""
        text = "\n".join([*_head(self), *_result(self), "", *_next(self), *_criteria(self), *_line("", _end(self))])
        return f"<div>{html_lines(text)}{self.table._repr_html_()}</div>"

    @property
    def table(self) -> Table:
        """The candidates that were tried, the lowest error of counts first, with the criteria that are not met."""
        rows = [
            (
                one.candidate.name, one is self.lead, _number(one.exposed(3)),
                _number(one.figures.get("inference_advantage")), _number(one.figures.get("inference_advantage_at_1")),
                one.error, ", ".join(_missed(one, self)) or None,
            )
            for one in sorted(self.tried, key=lambda one: (one.error, one.candidate.name))
        ]  # fmt: skip
        columns = ("candidate", "leads", "exposed", "advantage", "surest_1_percent", "error", "not_met")
        return Table(f"{len(rows)} candidates", columns, tuple(rows))

    @property
    def json(self) -> str:
        """Return the same for programs, without times, so that two runs with one seed give the same bytes."""
        return json.dumps(_value(self), indent=2, ensure_ascii=False)


def _number(figure: Ranged | None) -> float | None:
    """Return the people of a figure, or its value where it counts none."""
    return None if figure is None else figure.value if figure.people is None else figure.people


def _line(label: str, text: str, most: int = 2) -> list[str]:
    """Return a text next to a label, in at most `most` lines."""
    return textwrap.wrap(
        text, WIDTH, initial_indent=f"{label:<{LABEL}}", subsequent_indent=" " * LABEL, max_lines=most,
        placeholder=" …", break_on_hyphens=False,
    )  # fmt: skip


def _people(figure: Ranged | None, of: bool) -> str:
    if figure is None or figure.people is None or figure.of is None:
        return "an unknown number of people" if of else "an unknown number"
    return f"{figure.people:,.0f} of {figure.of:,.0f} people" if of else f"{figure.people:,.0f}"


def _apart(figure: Ranged | None, other: Ranged | None) -> bool:
    """Return True if two figures count among different numbers of people, so that each needs its own."""
    # Only people with 3 items or more can be exposed by 3 items.
    return figure is not None and other is not None and figure.of != other.of


def _head(advice: Advice) -> Iterator[str]:
    others = f"{advice.control:,} further records serve as control group." if advice.control else (
        "A file of yours has the control group."
    )  # fmt: skip
    # All candidates share the people who are looked up, and so the figures of the originals.
    today = advice.tried[0].figures if advice.tried else {}
    counted = max((figure.of or 0 for key, figure in today.items() if key.startswith("exposed")), default=0)
    drawn = f" {counted:,.0f} people are looked up." if 0 < counted < advice.records else ""
    of = f"Drawn from {advice.drawn_from:,} records, because they are too many. " if advice.drawn_from else ""
    if of:
        yield of.strip()
    yield f"{advice.records:,} records, {advice.items:,} items. {others}{drawn}"
    three, two = (today.get(f"exposed_{known}_original") for known in (3, 2))
    said = f"{_people(three, True)} (probability above 1/11), 2 known items {_people(two, _apart(two, three))}"
    yield from _line("Today", f"3 known items expose {said}.")


def _result(advice: Advice) -> Iterator[str]:
    name, lead = quote(advice.by.name, 40)[1:-1], advice.lead
    if lead is None:
        yield from _line("Result", f'No candidate meets the criteria "{name}" and shows anything.')
        return
    called = lead.candidate.name
    if advice.passes:
        meeting = sum(one.meets(advice.criteria) for one in advice.tried)
        meet = "meets" if meeting == 1 else "meet"
        text = f'{meeting} of {len(advice.tried)} candidates {meet} the criteria "{name}". '
        text += f"Of these, {called} has the lowest error."
    else:
        missed = ", ".join(_missed(lead, advice))
        text = f'No candidate meets all criteria "{name}": nothing tried is acceptable.'
        text += f" Nearest: {called}. Not met: {missed or 'not attacked yet'}."
    yield from _line("Result", text)
    yield from _figures(lead, advice.criteria)


def _counts(advice: Advice) -> Iterator[str]:
    """Yield the answer for readers who only count."""
    lead = advice.counts
    if lead is None:
        return
    meets = "meets all criteria" if advice.counts_pass else f"not met: {', '.join(_missed(lead, advice))}"
    exposed = _people(lead.exposed(3), True)
    text = f"{lead.candidate.name}: error {lead.error:.0%}, 3 items expose {exposed}; {meets.replace(' guesses', '')}."
    yield from _line("Counts only", text)


def _figures(lead: Tried, criteria: tuple[Criterion, ...]) -> Iterator[str]:
    by = {criterion.figure: criterion for criterion in criteria}
    found = []
    for known in (3, 2):
        key = f"exposed_{known}"
        figure = lead.exposed(known)
        limit = f" (limit {by[key].limit * figure.of:,.0f})" if key in by and figure and figure.of else ""
        of_people = _people(figure, known == 3 or _apart(figure, lead.exposed(3)))
        found.append(f"{known} known items {'expose ' if known == 3 else ''}{of_people}{limit}")
        if key in by and by[key].limit == 0 and figure and not figure.people and figure.of:
            # Nobody exposed among n people bounds the share by about 3 / n, with 95% confidence.
            found[-1] += f" and, by the rule of three, at most {3 / figure.of:.2%} of others like them"
    yield from _line("  Exposure", ", ".join(found) + ".")
    guesses = {"": "Advantage of all guesses", "_at_5": "of the surest 5%", "_at_1": "of the surest 1%"}
    advantages = [
        f"{words} {_advantage(lead.figures.get(key := f'inference_advantage{ending}'), by.get(key))}"
        for ending, words in guesses.items()
    ]
    yield from _line("  Inference", ", ".join(advantages) + ".")
    auc, bound = lead.figures.get("membership_auc"), by.get("membership_auc")
    told = "not measured" if auc is None else f"AUC {auc.value:.2f}"
    limit = "" if bound is None or auc is None else f" (limit {bound.limit:g})"
    ways = f"{len(lead.attacks)} way{'s' if len(lead.attacks) > 1 else ''}"
    attacked = f"Attacked in {ways}; the worst figures count." if lead.attacked else "Not attacked yet."
    yield from _line("  Membership", f"{told}{limit}. {attacked}")
    errors = (lead.figures.get(f"count_error_{size}") for size in (1, 2, 3))
    shown = ["–" if error is None else f"{error.value:.0%}" for error in errors]
    text = f"Counts of 1 item are off by {shown[0]}, of 2 items by {shown[1]}, of 3 items by {shown[2]}"
    yield from _line("  Utility", f"{text}; {lead.error:.0%} on average.")


def _advantage(figure: Ranged | None, criterion: Criterion | None) -> str:
    if figure is None:
        return "not measured"
    limit = "" if criterion is None else f", limit {criterion.limit:.0%}"
    return f"{figure.value:.0%} (up to {figure.high:.0%}{limit})"


def _missed(one: Tried, advice: Advice) -> list[str]:
    """Return the names of the criteria that a candidate does not meet."""
    states = one.states(advice.criteria)
    return list(dict.fromkeys(by.kind for by in advice.criteria if states[by.figure] != "met"))


def _table(advice: Advice, room: int) -> Iterator[str]:
    rows = _rows(advice, max(1, min(ROWS, room)))
    if rows:
        more = f" ({len(rows)} of {len(advice.tried)}: --all)" if len(rows) < len(advice.tried) else ""
        yield from _listed(rows, advice, f"candidate{more}")


def _rows(advice: Advice, most: int) -> list[Tried]:
    """Return the leading candidate, and those that no other one dominates, the lowest error first.

    The nearest one of each method comes before the second of any.
    """
    nearest = sorted(advice.front, key=lambda one: (one is not advice.lead, one.distance(advice.criteria)))
    rows = nearest if advice.lead is None or advice.lead in nearest else [advice.lead, *nearest]
    # Rows of one method would fill the table, although readers choose between methods.
    before = [[other.candidate.kind for other in rows[:place]] for place in range(len(rows))]
    order = sorted(range(len(rows)), key=lambda place: before[place].count(rows[place].candidate.kind))
    return sorted((rows[place] for place in order[:most]), key=lambda one: one.error)


def _listed(rows: Sequence[Tried], advice: Advice, title: str = "candidate") -> Iterator[str]:
    width = max(len(title), *(len(one.candidate.name) for one in rows))
    yield f"  {title:<{width}}  exposed  advantage  surest 1%   error  not met"
    for one in rows:
        exposed = one.exposed(3)
        people = "–" if exposed is None else _people(exposed, False)
        shares = [
            "–" if (figure := one.figures.get(f"inference_advantage{ending}")) is None else f"{figure.value:.0%}"
            for ending in ("", "_at_1")
        ]
        cells = f"{people:>7}  {shares[0]:>9}  {shares[1]:>9}  {one.error:>6.0%}"
        # Shorter names leave room for more of them.
        missed = ", ".join(_missed(one, advice)).replace(" guesses", "").replace(" items", "") or "–"
        mark = ">" if one is advice.lead else " "
        line = f"{mark} {one.candidate.name:<{width}}  {cells}  "
        yield line + (missed if len(line + missed) <= WIDTH else f"{len(_missed(one, advice))} criteria")


def listing(advice: Advice) -> Iterator[str]:
    """Yield a line per candidate, the lowest error first, then per list of attacks, and per way that was not tried."""
    if advice.tried:
        yield from _listed(sorted(advice.tried, key=lambda one: (one.error, one.candidate.name)), advice)
    yield from (f"attacks on {one.candidate.name}: {', '.join(one.attacks)}" for one in advice.tried if one.attacked)
    yield from (f"not tested: {one.name} ({one.reason})" for one in advice.untried)


def _next(advice: Advice) -> Iterator[str]:
    lead = advice.lead
    if advice.passes or lead is None:
        return
    passing = [one for one in nearest_changes(lead, advice.tried) if one.meets(advice.criteria)]
    changed = f"{passing[0].candidate.name} meets them" if passing else "No single change that was tried meets them"
    yield from _line(
        "Next",
        f"{changed}. First leave out rare items and items that identify. Then try a larger control group (--control) "
        "or controlled access.",
    )


def _criteria(advice: Advice) -> Iterator[str]:
    named = "; ".join(dict.fromkeys(one.source for one in advice.criteria))
    sources = SOURCES if any(one.source == RISK for one in advice.criteria) else f"{quote(named, 300)[1:-1]}."
    yield from _line("Limits", f"{quote(advice.by.name, 40)[1:-1]}: {sources}", 3)


def _untried(advice: Advice) -> Iterator[str]:
    listed = "; ".join(f"{one.name} ({one.reason})" for one in advice.untried)
    if listed:
        yield from _line("Not tested", f"{listed}.")


def _end(advice: Advice) -> str:
    if advice.ended is None:
        return END
    many = "1 candidate was" if len(advice.tried) == 1 else f"{len(advice.tried)} candidates were"
    return f"INCOMPLETE: only {many} tried, because {advice.ended}. {END}"


def _value(advice: Advice) -> JsonObject:
    """Return an advice as a value for JSON."""
    return {
        "records": advice.records,
        "items": advice.items,
        "control": advice.control,
        "drawn_from": advice.drawn_from,
        "criteria": [{"figure": one.figure, "limit": one.limit, "source": one.source} for one in advice.criteria],
        "passes": advice.passes,
        "counts": None if advice.counts is None else advice.counts.candidate.name,
        "counts_pass": advice.counts_pass,
        "lead": None if advice.lead is None else advice.lead.candidate.name,
        "ended": advice.ended,
        "candidates": [_candidate(one, advice) for one in advice.tried],
        "untried": [one._asdict() for one in advice.untried],
    }


def _candidate(one: Tried, advice: Advice) -> JsonObject:
    figures = {key: {"value": figure.value, "high": figure.high} for key, figure in sorted(one.figures.items())}
    return {
        "name": one.candidate.name,
        "anonymise": dict(one.candidate.anonymise),
        "attacks": list(one.attacks),
        "meets": one.meets(advice.criteria),
        "states": one.states(advice.criteria),
        "figures": figures,
    }
