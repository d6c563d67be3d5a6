"""A measure of plain English: sentences of a text, and the constructions in them that readers misread."""

import re
from collections.abc import Iterable, Iterator
from statistics import fmean
from typing import NamedTuple

__all__ = ["CORE", "HOUSE", "Measured", "faults", "measured", "printed", "prose", "sentences"]

RELATIVE = r"(?:who|whom|whose|whoever|what)"
CORE = {
    "opens with a question word": r"^(?:What|Who|Whom|Whose|Whoever|Whatever|Whether)\b(?!.*\?$)",
    "opens with its object": r"^(?:Of(?! these\b| \d)|To whom|By what|With what|Behind|Among|Nor|Undefined)\b",
    "relative without a noun": rf"(?:\b(?:of|to|by|for|from|with|in|on|about|than|as|and|or)|,) {RELATIVE}\b(?!\?)",
    "person without a noun": r"(?:^|[;:,] |\bthat |\bto )who (?:has|have|knows?|is|takes?|wants?|says?|can|must|may)\b",
    "pronoun without a noun": (
        r"(?:^|[.;:] )(?:That|This|It|These|Those|They|Both|None|Neither|Each) "
        r"(?:is|are|was|were|has|have|does|do|can|may|must|goes|stands?|says?|shows?|counts?)\b"
    ),
    "two negations": (
        r"\b(?:no|not|nothing|none|never|nowhere|nor|without)\b[^.;:]{0,60}"
        r"\b(?:no|not|nothing|none|never|nowhere|nor|without|unless)\b"
    ),
    "three clauses in one": r"[;:][^.;:]+[;:]",
}
"""Constructions that are hard to parse in any text."""
HOUSE = {
    "tells of, told apart": (
        r"\b(?:tells?|told|telling) (?:of|apart|a third|them|nothing|whom|how|what|which|that|why)\b"
    ),
    "the same of, those of": (
        r"\bthe same (?:of|by|as published)\b|\b(?:those|these) that\b|\b(?:that|those) of\b|\blikewise\b"
    ),
    "stands, lies, goes by, comes back": (
        r"\bstands? (?:in|for|at|beside|under|alone|where|there|here|before|after|together)\b"
        r"|\blies? (?:beside|in|apart)\b|\bgo(?:es)? by\b|\bgoing by\b|\bcomes? (?:of|back)\b|\bw[io]ns? back\b"
    ),
    "archaic or chatty": (
        r"\b(?:amiss|anew|alike|beside|somebody|nobody|anybody|everybody|nought|thus|hence|lest|mend(?:ed|s)?|spelt out"
        r"|spoilt|yardstick|but for|of yours|of one's own|all the same|at once|hand(?:ed)? out|by the look of it)\b"
    ),
    "as many as": (
        r"\bso many (?:known|items|of)\b|\bas many\b|\bthe (?:more|fewer|less)\b[^.,;]*, the (?:more|fewer|less)\b"
    ),
}
"""Habits of this project."""
MOST_WORDS = 30
"""Words of a sentence, above which it counts as hard."""
PASSIVE = re.compile(
    r"\b(?:is|are|was|were|be|been|being) (?:\w+ly |not |never |also )?"
    r"(?:\w{2,}ed|known|given|made|done|told|shown|taken|kept|found|read|run|put|cut|said|seen|written|held|drawn|chosen|"
    r"lost|left|hidden|meant|built|sent|set|broken)\b"
)


class Measured(NamedTuple):
    """The figures of some sentences: mean words, and constructions per 100 sentences."""

    sentences: int
    words: float
    openings: float
    core: float
    house: float
    passive: float


def prose(markdown: str) -> str:
    """Return the prose of a Markdown text: without code, tables, links and headings."""
    text = re.sub(r"(?ms)^```.*?^```$", "\n\n", markdown)
    text = re.sub(r"(?s)<!--.*?-->", " ", text)
    text = re.sub(r"(?m)^\s*\|(.*)\|\s*$", _cells, text)
    text = re.sub(r"(?m)^(?:[ \t]{4,}\S|>>> |\.\.\. |#{1,6}\s).*$", "\n", text)
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", " ", text)
    text = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"``?([^`\n]+)``?", lambda code: "code" if re.search(r"[^\w '-]", code[1]) else code[1], text)
    text = re.sub(r"(?m)^\s*(?:[-*+]|\d+\.)\s+", "\n\n", text)
    return text.replace("*", "")


def _cells(row: re.Match[str]) -> str:
    """Return the cells of a row that are long enough for a sentence."""
    return "\n\n" + "\n\n".join(cell for cell in row[1].split("|") if len(cell.split()) >= 6) + "\n\n"


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text, of three words or more."""
    for block in re.split(r"\n\s*\n", text):
        line = re.sub(r"\b(e\.g|i\.e|etc|vs|al|No|approx)\.", r"\1", " ".join(block.split()))
        for sentence in re.split(r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]?[A-Z0-9])", line):
            if len(_words(sentence)) >= 3:
                yield sentence.strip(" -–—")


def _words(sentence: str) -> list[str]:
    return re.findall(r"[A-Za-z][A-Za-z'’-]*", sentence)


def printed(output: str) -> list[str]:
    """Return the sentences that a command printed: no tables, progress, commands or results of expectations."""
    return sentences("\n".join(map(_paragraph, output.splitlines())))


def _paragraph(line: str) -> str:
    """Return a line of a paragraph; a line with a label begins one, and a table or a result has none."""
    if (
        re.match(r"\$ |\[\d+/|(?:passed|FAILED|UNDEFINED|expect|seems|text|record|holds|next|last is)\b", line)
        or "─" in line
    ):
        return "\n"
    if re.search(r"\S {3,}\S.* {3,}\S", line):
        return "\n"
    label = re.match(
        r"[A-Z][A-Za-z ]{2,13}? {2,}(?=\S)|(?:note|WARNING|CONFIDENTIAL|decloak): |– |(?=Saved as |[a-z_]+: round )"
        r"|(?=the guarantee |read as |left out |odd names |add |visits)"
        r"|(?=\w[\w ,]* of [\w ,]+: )",
        line,
    )
    return f"\n\n{line[label.end() :]}" if label else f"{line.strip()} "


def faults(sentence: str, kinds: Iterable[dict[str, str]] = (CORE, HOUSE)) -> list[str]:
    """Return the names of the constructions in `sentence`, one for each hit."""
    found = [
        name
        for kind in kinds
        for name, pattern in kind.items()
        for _ in re.findall(pattern, sentence, 0 if pattern.startswith("^") else re.IGNORECASE)
    ]
    return [*found, *(["more than 30 words"] if CORE in kinds and len(_words(sentence)) > MOST_WORDS else [])]


def measured(found: Iterable[str]) -> Measured:
    """Measure sentences, each once whatever its numbers are."""
    every = list({re.sub(r"[\d.,]+", "0", one): one for one in found}.values())
    counts = [len(_words(one)) for one in every]
    per_cent = 100 / max(1, len(every))
    return Measured(
        len(every),
        fmean(counts) if counts else 0.0,
        per_cent * sum(any("opens" in name for name in faults(one, [CORE])) for one in every),
        per_cent * sum(len(faults(one, [CORE])) for one in every),
        per_cent * sum(len(faults(one, [HOUSE])) for one in every),
        per_cent * sum(bool(PASSIVE.search(one)) for one in every),
    )
