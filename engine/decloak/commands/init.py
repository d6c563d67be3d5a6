"""The command `init`: write a scenario to start from."""

import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import click

from decloak.data.formats.writing import atomic_paths, check_new, report_write_errors
from decloak.errors import DecloakError, quote, suggest
from decloak.report.terminal import say

if TYPE_CHECKING:
    from decloak.data.formats.look import Look

RELATE = """\
# The attacker learns how items are related from the release, which shows every item that an attack needs. An attacker
# with counts of documents, a corpus, word vectors or a sample knows more: see docs/how-to/measure-relatedness.md. Read
# the coverage below the table of attacks: an attacker who does not know the words of these data tests nothing.
relate: {measure: ngd, source: release}
"""
# Four clusters of the 1,000 records that LARGE_SETTINGS name.
LARGE = 4_000
"""Records from which large clusters have enough of them."""
SMALL_SETTINGS = "k: 3, m: 2, max_cluster: 25"
LARGE_SETTINGS = "k: 11, m: 2, max_cluster: 1000, cover: cure, totals: true"
ORIGINAL = f"""\
# `decloak advise FILE` tries methods and settings on these data, and compares them with criteria. Until then: SETTINGS
# Other methods: cut (with a hierarchy), coat, suppression, sets; see docs/how-to/generalise.md. For readers who only
# count: itemsets or synthetic; see docs/how-to/publish-counts.md. A larger k hides each record better.
anonymise: {{method: disassociation, VALUES}}
{RELATE}\
# What the attacker knows of records: strong, moderate or weak.
attacker: {{model: moderate, share: 0.5}}
attack: [random, aba, rga, mra, expectation, cover]
measure: [accuracy, breakage, breach]
# What must hold, to guard a release in CI: expect: ["accuracy(expectation) < 0.5"]
"""
DISASSOCIATED = f"""\
{RELATE}\
attack: [random, aba, rga, mra, expectation, cover]
"""
TABLE = """\
attack: [differenced]
"""
SETS = f"""\
{RELATE}\
attack: [ra, mda, tba, wba, gba, rba, selftrained]
"""
RELEASES = {"disassociated": DISASSOCIATED, "generalised": SETS, "published": SETS, "itemset-table": TABLE}
"""The rest of a scenario below the data of each form of release."""


def write_scenario_from(file: Path, scenario: Path, schema: Path) -> None:
    """Look at a file, and write a scenario about it; an error where the look is not sure."""
    from decloak.data.formats.look import look

    check_new(scenario)
    seen = look(file)
    reading = seen.sure_reading("the keys under data in a scenario")
    # Relative to the scenario, so that both can move together.
    text = scenario_of(seen, os.path.relpath(file, scenario.parent), schema.name)
    with report_write_errors(scenario), atomic_paths(scenario.parent / schema.name, scenario) as parts:
        shutil.copyfile(schema, parts[0])
        parts[1].write_text(text, encoding="utf-8")
    say(f"note: {quote(file)[1:-1]} is read as {reading} (detected)", err=True)
    advice = "" if seen.format in RELEASES else f"decloak advise {scenario} (compares methods and settings), then "
    say(f"wrote {scenario}. Next: {advice}decloak run {scenario}")


def scenario_of(seen: "Look", name: str, schema: str) -> str:
    """Return the text of a scenario with its comments, where `name` is the path of the data file."""
    question = "What does {} give away?" if seen.format in RELEASES else "How well does disassociation hide {}?"
    lines = [
        f"# yaml-language-server: $schema={schema}",
        f"scenario: {_text(question.format(quote(Path(name).name)[1:-1]))}",
        "# What the file seems to be (decloak look FILE tells why); change what is not so.",
        "data:",
        *(f"  {key}: {value}" for key, value in _data(seen, name)),
        *(f"  # clean: {{{setting}}}  # {reason}" for setting, reason in seen.proposals),
    ]
    return "\n".join(lines) + "\n" + RELEASES.get(seen.format, _original(seen))


def _original(seen: "Look") -> str:
    """Return the rest of a scenario of original data, with settings for as many records as the file has."""
    large = seen.counts is not None and seen.counts.records >= LARGE
    papers = (
        "the settings of\n# the papers. They suit small files. In larger ones a larger k and larger clusters hide more."
    )
    reason = "a large k hides\n# people, and large clusters hide items." if large else papers
    return ORIGINAL.replace("SETTINGS", reason).replace("VALUES", LARGE_SETTINGS if large else SMALL_SETTINGS)


def _data(seen: "Look", name: str) -> list[tuple[str, str]]:
    settings = {key: _text(value) for key, value in seen.reading.settings.items()}
    if seen.format in RELEASES and seen.format != "published":
        return [("release", _text(name))]
    if seen.format == "published":
        inner = ", ".join(f"{key}: {value}" for key, value in {"file": _text(name), **settings}.items())
        return [("published", "{" + inner + "}")]
    if seen.format in ("text", "searchlog"):
        return [(seen.format, _text(name))]
    return [("file", _text(name)), ("format", seen.format), *settings.items()]


def _text(value: object) -> str:
    """Write a value in the notation that YAML and JSON share."""
    return json.dumps(value)


STANDALONE = ("gallery", "papers/km-anonymity")
"""Folders of scenarios whose data are generated."""
SCHEMA = "scenario.schema.json"
"""The JSON Schema for editors. The first line of a scenario names it."""


@click.command("init")
@click.argument("scenario", type=click.Path(path_type=Path), default="scenario.yaml")
@click.option("--like", help="Example to copy, for example demo or clinic-methods.")
@click.option(
    "--from", "data_file", type=click.Path(path_type=Path), help="Data file or release to write a scenario for."
)
def init_command(scenario: Path, like: str | None, data_file: Path | None) -> None:
    """Create a scenario, from an example or from your file.

    Without an option, decloak writes the quickstart with its data: 24 records of a small clinic. --like copies an
    example with generated data. --from writes a scenario for your data or for your release, with the format that
    `decloak look` detects.
    """
    from decloak.files import bundled

    source = Path(str(bundled("scenarios")))
    if data_file is None:
        _copy_shipped(source, like, scenario)
    elif like is None:
        write_scenario_from(data_file, scenario, source / SCHEMA)
    else:
        raise DecloakError("a scenario is like another or from a file", hint="leave out --like or --from")


def _copy_shipped(source: Path, like: str | None, scenario: Path) -> None:
    """Copy a scenario that comes with decloak: the one of this name, or the quickstart with the folder of its data."""
    folder, data = scenario.parent, "quickstart"
    begun = source / f"{data}.yaml" if like is None else _shipped(source, like)
    copies = [folder / data] if like is None else []
    for target in (scenario, *copies):
        # The scenario cannot have the name of the folder of its data.
        if target.exists() or scenario in copies:
            raise DecloakError("there is something already", str(target), "choose another name or folder")
    # The first line names the schema by a path of the source tree; beside the copy lies a schema of its own.
    _, text = begun.read_text(encoding="utf-8").split("\n", 1)
    with report_write_errors(scenario):
        folder.mkdir(parents=True, exist_ok=True)
        with atomic_paths(folder / SCHEMA, *copies, scenario) as (schema, *copied, written):
            shutil.copyfile(source / SCHEMA, schema)
            for part in copied:
                shutil.copytree(source / data, part)
            written.write_text(f"# yaml-language-server: $schema={SCHEMA}\n{text}", encoding="utf-8")
    beside = f" and {folder / data}/" if like is None else ""
    say(f"wrote {scenario}{beside}. Next: decloak run {scenario}")


def _shipped(source: Path, name: str) -> Path:
    """Return the included scenario `name`, which needs no file."""
    scenarios = {path.stem: path for folder in STANDALONE for path in sorted((source / folder).glob("*.yaml"))}
    if name not in scenarios:
        hint = suggest(name, scenarios) or f"one of {', '.join(scenarios)}"
        raise DecloakError(f"decloak has no example {quote(name)}", "--like", hint)
    return scenarios[name]
