"""The page of `decloak report`: names are inert, nothing is fetched, nothing of persons is on it unless asked for."""

import csv
import html
import io
import json
import re
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import decloak
from browser import browser
from decloak.measure.kernels.statistics import Interval
from decloak.report import assemble, charts, verdict
from decloak.report.exposure_section import ReleasePoint as Place
from decloak.report.exposure_section import _dominated, _exposed, _place_names, _tile, tiles_of
from decloak.report.headlines import unknown_figures
from decloak.report.page import (
    Drawn,
    Finding,
    Findings,
    Page,
    PageTable,
    Section,
    Tile,
    TileRow,
    marked_terms,
    rendered,
    strip,
)
from decloak.report.risk_card import Cell, ExposureCard, exposure_cards
from decloak.report.sections import costs_section, nameless, sweep_section
from decloak.report.study import Point, Series, Study
from decloak.report.wording import count
from decloak.store.opening import connect_readonly
from decloak.store.results import chosen_runs, notes_of, read_runs
from slowly import slow_but
from verdict_cases import green, inferring

HOSTILE = (
    "</script><script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    "</title><svg onload=\"document.title='owned'\">",
    "--><!-- ]]> {{ 7 * 7 }} {% raw %}",
    "=cmd|' /C calc'!A1",
    "@import url(http://127.0.0.1:9/x)",
    "javascript:document.title='owned'",
    "\u202eevil\u2066 \x9b31m &amp; \u2028 ' \" `",
)
SWEEP = """\
scenario: {title}
data: {{generate: clinic, transactions: 120, seed: 7}}
anonymise: {{method: coat, k: 5, privacy: {{count: 10, sizes: [3]}}}}
relate: {{measure: ngd, source: clinic-counts}}
attack: [ra, mda, rba]
measure: [recovery, {{coverage: {{least: 0.3}}}}]
vary: {{anonymise.k: [3, 5]}}
repeat: {{times: 2, seed: 1}}
"""


@pytest.fixture(scope="module")
def sweep(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("sweep")
    (folder / "s.yaml").write_text(SWEEP.format(title="How much comes back?"))
    decloak.run(folder / "s.yaml", store=folder / "s.db")
    return folder / "s.db"


def report(call, store: Path, out: Path, *more: str) -> str:
    done = call("report", *more, "--store", store, "-o", out)
    assert done.code == 0, done.err
    return out.read_text(encoding="utf-8")


def hostile_page() -> Page:
    line = Series(HOSTILE[0], tuple(Point(x, 0.5, 0.4, 0.6, 3, 0.3) for x in HOSTILE))
    spec = charts.panel(line, HOSTILE[1], HOSTILE[2], 1.0, about=HOSTILE[1])
    table = PageTable(HOSTILE[0], HOSTILE, [HOSTILE])
    section = Section("x", HOSTILE[0], HOSTILE, [Drawn(HOSTILE[1], [charts.drawn(spec, "svg").decode()], table)],
                      [table], HOSTILE, HOSTILE[3])  # fmt: skip
    rows = [TileRow(HOSTILE[0], HOSTILE[1], 0.5), TileRow(HOSTILE[2], note=HOSTILE[3])]
    return Page(
        HOSTILE[2], HOSTILE[2], HOSTILE[0], "bad", HOSTILE[1], [(name, name) for name in HOSTILE],
        [Finding(name, name, "fails", name) for name in HOSTILE], [("✗", name) for name in HOSTILE],
        [Tile(HOSTILE[0], HOSTILE[1], HOSTILE[2], HOSTILE[3], rows, HOSTILE[4])], [section],
        {"columns": ["a"], "rows": [[name] for name in HOSTILE]},
        Findings(HOSTILE[0], HOSTILE[:3], [HOSTILE[:3], HOSTILE[3:6]]), HOSTILE[0],
    )  # fmt: skip


@pytest.mark.slow
def test_two_reports_of_a_store_are_the_same_bytes(sweep, call, tmp_path):
    assert report(call, sweep, tmp_path / "a.html") == report(call, sweep, tmp_path / "b.html")


def test_a_report_of_one_run_is_of_its_whole_sweep(sweep):
    with closing(connect_readonly(sweep)) as connection:
        assert [run.run for run in chosen_runs(connection, ["2"])] == [1, 2, 3, 4]
        assert [run.run for run in chosen_runs(connection, ["2", "3"])] == [2, 3]


def test_no_name_of_an_item_is_on_a_page_unless_somebody_asks(sweep, call, tmp_path):
    with closing(connect_readonly(sweep)) as connection:
        items = {name for (name,) in connection.execute("select name from item") if len(name) > 6}
    quiet = report(call, sweep, tmp_path / "quiet.html")
    assert not [item for item in items if item in quiet]
    loud = report(call, sweep, tmp_path / "loud.html", "--with-evidence", "--with-originals")
    assert any(item in loud for item in items)
    assert "CONFIDENTIAL: this page" in loud
    assert "CONFIDENTIAL" not in quiet


def test_the_figures_of_the_page_are_those_of_the_store(sweep, call, tmp_path):
    text = report(call, sweep, tmp_path / "page.html")
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S)[1])["figures"]
    with closing(connect_readonly(sweep)) as connection:
        stored = connection.execute("select run, attack, measure, value from result order by 1, 2, 3").fetchall()
    at = {name: number for number, name in enumerate(data["columns"])}
    on_page = {
        (row[at["run"]], row[at["attack"]], name): row[number]
        for row in data["rows"]
        for name, number in at.items()
        if name not in ("run", "variant", "repetition", "attack")
    }
    assert {key: value for *key, value in map(list, stored) for key in [tuple(key)]} == {
        key: value for key, value in on_page.items() if key in {row[:3] for row in stored}
    }


def test_a_sweep_has_a_named_point_for_each_release_with_its_people_and_its_cost(sweep, call, tmp_path):
    page = report(call, sweep, tmp_path / "page.html")
    section = re.search(r'<section id="frontier".*?</section>', page, re.S)[0]
    with closing(connect_readonly(sweep)) as connection:
        cards = exposure_cards(connection, Study.of(connection, chosen_runs(connection, ["last"])))
    for figure, title in (("singled_out_2", "singled out with up to 2 items"), ("inferred_own", "item known")):
        drawn = next(part for part in section.split("<figure>") if f"<figcaption>{title}" in part)
        rows = dict(
            re.findall(r'<th role="rowheader" scope="row">([^<]*)</th><td[^>]*><span class="v">([^<]*)</span>', drawn)
        )
        for card in cards:
            name = card.name.rpartition(".")[2]
            assert rows[name] == count(card.worst(figure))
            assert f">{name}</text>" in drawn


def test_a_point_is_grey_where_another_release_is_at_least_as_good_in_both_figures():
    assert _dominated(("a", 10.0, 5.0), [("a", 10.0, 5.0), ("b", 10.0, 4.0)])
    assert not _dominated(("a", 10.0, 5.0), [("a", 10.0, 5.0), ("b", 11.0, 4.0), ("c", 10.0, 5.0)])


def test_names_of_points_cover_no_point_and_no_other_name():
    points = [Place(f"k={k}", float(k), 10.0 * k, "best") for k in range(1, 6)]
    boxes = [place for _, place in _place_names(points, points, 50.0, 2.0)]
    assert len(boxes) == len(points)
    crowded = [Place("first", 1.0, 10.0, "best"), Place("second", 1.2, 10.0, "best")]
    assert len({tuple(place.items()) for _, place in _place_names(crowded, crowded, 50.0, 2.0)}) == 2


@pytest.mark.parametrize(("share", "dots"), [(0.0, 0), (0.0001, 1), (0.5964, 597), (1.0, 1000)])
def test_a_strip_fills_a_dot_for_each_person_of_1000_and_rounds_up(share, dots):
    spans = re.findall(r'class="exposed" x1="(\d+)" x2="(\d+)"', strip(share))
    assert sum((int(end) - int(start) + 3) // 4 for start, end in spans) == dots


def test_a_term_has_its_definition_once_and_hostile_text_stays_text():
    text = marked_terms("<b>baseline</b>, baseline")
    assert text.count("<abbr title=") == 1
    assert text.startswith("&lt;b&gt;<abbr")


@pytest.mark.parametrize(
    ("width", "media"),
    slow_but(
        [(390, "screen"), (695, "print")],
        [(390, "screen"), (768, "screen"), (1280, "screen"), (695, "print")],
        several=True,
    ),
    ids=str,
)
def test_no_element_of_a_page_is_wider_than_its_box(sweep, call, tmp_path, width, media):
    report(call, sweep, tmp_path / "page.html")
    wider = (
        "[...document.querySelectorAll('body *')].filter(e => !(e instanceof SVGElement) && !e.closest('thead, .skip')"
        " && e.clientWidth && getComputedStyle(e).display !== 'inline' && e.scrollWidth > e.clientWidth + 1)"
        ".map(e => e.outerHTML.slice(0, 80))"
    )
    with browser(tmp_path) as tab:
        tab.open(tmp_path / "page.html", width)
        tab.call("Emulation.setEmulatedMedia", media=media)
        assert tab.ask(wider) == []
        assert tab.ask("document.documentElement.scrollWidth") <= width
        assert tab.ask("[...document.querySelectorAll('figure .panel')].filter(e => e.clientWidth).length") <= 8
        assert tab.complaints == []
        assert tab.requests == []


@pytest.mark.parametrize("more", slow_but([()], [(), ("--with-originals",)]))
def test_a_page_leaves_the_store_as_it_is_and_is_the_same_again(call, tmp_path, more):
    (tmp_path / "s.yaml").write_text(SWEEP.format(title="Lists").replace("times: 2", "times: 1"))
    pages = []
    for number in (1, 2):
        store = tmp_path / "s.db"
        store.unlink(missing_ok=True)
        decloak.run(tmp_path / "s.yaml", store=store)
        before = store.read_bytes()
        pages.append(report(call, store, tmp_path / f"{number}.html", *more))
        assert store.read_bytes() == before
    moments = r"first started [^;]*;"
    assert re.sub(moments, "", pages[0]) == re.sub(moments, "", pages[1])
    assert "Most exposed records" in pages[0]


METHODS = """\
scenario: Which method?
data: {generate: clinic, transactions: 150, seed: 7}
relate: {measure: ngd, source: clinic-counts}
attack: [rba, mra]
measure: [recovery, accuracy, loss, utility]
vary:
  anonymise:
    - {method: coat, k: 5, privacy: {count: 10, sizes: [3]}}
    - {method: disassociation, k: 3, m: 2, max_cluster: 15}
"""


def test_a_page_of_several_methods_tells_of_whom_in_one_table_and_what_to_make_of_it(call, tmp_path):
    (tmp_path / "s.yaml").write_text(METHODS)
    printed = call("run", tmp_path / "s.yaml", "--store", tmp_path / "s.db").out
    page = report(call, tmp_path / "s.db", tmp_path / "page.html")
    section = re.search(r'<section id="people".*?</section>', page, re.S)[0]
    rows = re.findall(r"<tr role=.row.><th role=.rowheader. scope=.row.>(.*?)</th>(.*?)</tr>", section, re.S)
    assert [name for name, _ in rows] == ["original", "coat", "disassociation"]
    for name, cells in rows:
        line = next(line for line in printed.splitlines() if line.startswith(f"{name} "))
        numbers = re.split(r" {2,}", line.strip())[1:]
        assert re.findall(r"class=.v.>([^<]*)</span>", cells)[: len(numbers)] == numbers
    assert "Of 150 people: release" in section
    advice = printed.split("\n\n")[2]
    assert "other" in advice
    assert " ".join(advice.split()) in html.unescape(page)
    assert "vary:" in page
    costs = re.search(r'<section id="costs".*?</section>', page, re.S)[0]
    for name in ("coat", "disassociation"):  # of which no attack is of both
        row = re.search(rf"scope=.row.>{name}</th>(.*?)</tr>", costs, re.S)[1]
        assert re.search(r">\d", row), name


def test_a_page_of_one_release_has_tiles_with_the_numbers_of_the_run(call, tmp_path):
    (tmp_path / "s.yaml").write_text(SWEEP.format(title="One").split("vary")[0])
    printed = call("run", tmp_path / "s.yaml", "--store", tmp_path / "s.db").out
    page = report(call, tmp_path / "s.db", tmp_path / "page.html")
    tiles = dict(re.findall(r'<article class="tile"><h3>(.*?)</h3>\s*<p class="big"><b>(.*?)</b>', page))
    rows = {
        "Singled out with up to 2 items": "singled out with up to 2 items",
        "Item known or inferred": "item known or inferred (expected)",
    }
    for title, row in rows.items():
        cells = re.split(r" {2,}", next(line for line in printed.splitlines() if line.startswith(f"{row} ")))
        published, attacked = cells[2:4]
        assert tiles[title] == (published if attacked == "–" else attacked)


def test_an_attack_that_leads_to_fewer_people_than_the_release_makes_no_card_look_better(call, tmp_path):
    (tmp_path / "d.txt").write_text("".join(f"{a}, {b}, {c}\n" for a in "ab" for b in "cd" for c in "efgh"))
    text = (
        "scenario: s\ndata: {file: d.txt, format: basket}\nattack: [ra, mda]\n"
        "anonymise: {method: sets, size: 2, share: 0.5, order: recorded}\nrelate: {measure: ngd, source: release}\n"
    )
    (tmp_path / "s.yaml").write_text(text)
    call("run", tmp_path / "s.yaml", "--store", tmp_path / "s.db")
    with closing(connect_readonly(tmp_path / "s.db")) as connection:
        (card,) = exposure_cards(connection, Study.of(connection, chosen_runs(connection, ["last"])))
    fewer = replace(
        card.cells["inferred_own"],
        release=Interval(9.0, None, None, 1),
        after=Interval(9.0, None, None, 1),
        source="release",
    )
    more = replace(fewer, after=Interval(12.0, None, None, 1), baseline=11.0, source="mda")
    for cell, value, about in (
        (fewer, "9", "of 16 people, in the release"),
        (more, "12", "of 16 people, after the attack mda"),
    ):
        with closing(connect_readonly(tmp_path / "s.db")) as connection:
            study = Study.of(connection, chosen_runs(connection, ["last"]))
        tile = tiles_of(replace(card, cells={**card.cells, "inferred_own": cell}), study)[-1]
        assert (tile.value, tile.of) == (value, about)


@pytest.mark.parametrize(("controls", "attack"), [((), "random"), (("random",), "rba"), (("random", "rba"), None)])
def test_a_tile_names_no_control_as_the_strongest_attack(controls, attack):
    figures = {("exposed_2_release", ""): 1.0, ("exposed_2", "rba"): 5.0, ("exposed_2", "random"): 9.0}
    assert _exposed(card_of(Cell(16)), study_of([figures], controls)).source == attack


@pytest.mark.parametrize(
    ("source", "place"),
    [("release", "in the release"), ("random", "after random guessing"), ("rba", "after the attack rba")],
)
def test_a_tile_names_its_source_and_random_guessing_is_no_attack(source, place):
    cell = Cell(16, 3.0, Interval(3.0, None, None, 1), Interval(5.0, None, None, 1), attack="rba", source=source)
    assert _tile("singled_out_2", cell, card_of(cell)).of == f"of 16 people, {place}"


def card_of(singled_out):
    """Return a card of 16 people, where nothing but the people whom 2 items single out is known."""
    return ExposureCard("base", 16, 16, {"singled_out_2": singled_out}, None, frozenset(), "base")


def study_of(figures, controls=()):
    """Return a study of repetitions with `figures`."""
    runs = tuple(SimpleNamespace(run=number, variant="base") for number in range(len(figures)))
    numbers = range(len(figures))
    study = Study(
        runs, dict(enumerate(figures)), dict.fromkeys(numbers, 16), controls=frozenset(controls),
        pooled={number: {} for number in numbers},
    )  # fmt: skip
    study.__dict__["pooled_variants"] = []
    return study


@pytest.mark.parametrize(
    ("cell", "reason"),
    [
        (Cell(16, reason="no attack had anything to compare"), "no attack had anything to compare"),
        (Cell(16, after=Interval(3.0, None, None, 1)), "not measured on disassociated data"),
    ],
)
def test_the_tile_of_people_exposed_tells_attacks_without_work_from_those_on_clusters(cell, reason):
    figures = {("exposed_2_release", ""): 1.0, ("exposed_2", "random"): 9.0, ("accuracy", "mra"): 0.5}
    assert _exposed(card_of(cell), study_of([figures], ["random"])).reason == reason


def test_the_interval_of_people_exposed_is_of_0_people_at_least_and_of_all_at_most():
    release = _exposed(
        card_of(Cell(16)), study_of([{("exposed_2_release", ""): people} for people in (1.0, 15.0)])
    ).release
    assert release.mean == 8
    assert 0 <= release.low < 1
    assert 15 < release.high <= 16


PLOTS = "[{x: anonymise.k, y: recall}, {x: attack, y: precision, by: anonymise.k}]"


def test_a_scenario_says_what_its_page_draws(call, tmp_path):
    text = SWEEP.format(title="Drawn").replace("times: 2", "times: 1") + f"report: {{plot: {PLOTS}}}\n"
    (tmp_path / "s.yaml").write_text(text)
    decloak.run(tmp_path / "s.yaml", store=tmp_path / "s.db")
    page = report(call, tmp_path / "s.db", tmp_path / "page.html")
    titles = re.findall(r"<figcaption>(.*?)</figcaption>", page)
    assert titles[2:4] == ["recall with anonymise.k", "precision with attack"]
    drawn = re.search(r"<section id=.sweep..*?</section>", page, re.S)[0]
    assert re.findall(r'class="panel"', drawn) == ['class="panel"'] * (3 + 2)  # by attack, and by each k


@pytest.mark.parametrize(
    ("plot", "message"),
    [
        ("{x: anonymise.m, y: recall}", "8:18: 'anonymise.m' does not vary; did you mean 'anonymise.k'?"),
        ("{x: attack, y: recall, by: nothing}", "8:40: 'nothing' does not vary; what varies: anonymise.k, attack"),
        ("{x: attack, y: recall, by: []}", "8:40: 'anonymise.k' differs as well; list it under by, or delete by"),
        ("{x: anonymise.k, y: recall, by: []}", "8:45: 'attack' differs as well; list it under by, or delete by"),
        ("{x: anonymise.k, y: recal}", "8:34: no figure 'recal'; did you mean 'recall'?"),
        ("{x: anonymise.k, y: ncp}", "8:34: 'ncp' is not measured; add loss to the list under measure"),
    ],
)
def test_a_plot_that_cannot_be_drawn_is_told_at_its_place(call, tmp_path, plot, message):
    lines = SWEEP.format(title="Drawn").splitlines()
    (tmp_path / "s.yaml").write_text("\n".join([*lines[:7], f"report: {{plot: [{plot}]}}", *lines[7:]]))
    done = call("validate", tmp_path / "s.yaml")
    assert (done.code, done.err) == (2, f"decloak: {tmp_path / 's.yaml'}:{message}\n")


def test_every_chart_says_in_words_what_it_shows(sweep, call, tmp_path):
    page = report(call, sweep, tmp_path / "page.html")
    charts_there = re.findall(r'<svg (?!class="bar"|class="strip"|viewBox="0 0 18)[^>]*>', page)
    said = [re.search(r'role="img" aria-label="([^"]+)"', tag)[1] for tag in charts_there]
    ends = r"0\.\d+ \(baseline 0\.\d+\)"
    assert any(
        re.fullmatch(rf"precision of rba goes from {ends} at anonymise\.k 3 to {ends} at 5", one) for one in said
    )
    assert "null" not in re.sub(r"(?s)<pre>.*?</pre>|<script.*?</script>", "", page)


def test_alternative_text_ends_no_tag():
    line = Series(HOSTILE[1], (Point(1, 0.5, None, None, 1, None), Point(2, 0.4, None, None, 1, None)))
    spec = charts.panel(line, HOSTILE[3], HOSTILE[4], 1.0, about=HOSTILE[1])
    assert "<img" not in charts.drawn(spec, "svg").decode()


def drawn_ticks(values) -> list[float]:
    """The numbers below the horizontal axis of a panel, as they are drawn."""
    line = Series("rba", tuple(Point(value, 0.5, None, None, 1, None) for value in values))
    picture = charts.drawn(charts.panel(line, "the axis", "precision", 1.0), "svg").decode()
    before, _ = picture.split(">the axis<")
    return [float(text) for text in re.findall(r"<text[^>]*>([^<]*)</text>", before)]


@pytest.mark.parametrize(
    "values",
    [(15, 25, 45), (3, 5, 11), (0.05, 0.125, 0.25), (1, 10, 1000, 12345), (-2.5, 0, 17), (1_000_000, 2_500_001)],
)
def test_ticks_of_a_varied_parameter_are_its_values(values):
    assert drawn_ticks(values) == list(values)


@settings(max_examples=20)
@given(
    st.lists(
        st.integers(0, 10**6) | st.integers(1, 10**6).map(lambda number: number / 1000),
        min_size=1,
        max_size=9,
        unique=True,
    )
)
def test_no_tick_is_another_value(values):
    ticks = drawn_ticks(values)
    assert ticks
    assert set(ticks) <= set(values)


def test_a_page_is_small_and_readable_without_a_script(sweep, call, tmp_path):
    text = report(call, sweep, tmp_path / "page.html")
    assert len(text.encode()) < 600_000
    assert text.count("<svg") >= 3
    assert "<table" in text


def test_there_is_one_script_and_it_is_the_one_the_policy_names():
    text = rendered(hostile_page())
    assert len(re.findall(r"<script>", text)) == 1
    assert "default-src 'none'" in text
    assert "http://" not in re.sub(r'xmlns(:xlink)?="[^"]*"', "", text).replace("http://127.0.0.1:9/x", "")
    island = re.search(r'id="data">(.*?)</script>', text, re.S)[1]
    assert json.loads(island)["findings"][0][0] == HOSTILE[0]


@pytest.mark.parametrize(
    ("width", "dark"),
    slow_but([(1280, True)], [(1280, True), (1280, False), (390, True), (390, False)], several=True),
)
def test_hostile_names_are_inert_in_a_browser(tmp_path, width, dark):
    (tmp_path / "page.html").write_text(rendered(hostile_page()), encoding="utf-8")
    with browser(tmp_path) as tab:
        tab.open(tmp_path / "page.html", width, dark=dark)
        assert tab.complaints == []
        assert tab.requests == []
        assert tab.ask("document.title").endswith(HOSTILE[2])
        assert tab.ask("document.documentElement.scrollWidth") == width
        assert tab.ask("document.querySelectorAll('img, iframe, object, script').length") == 2
        assert tab.ask("document.querySelector('#rows tbody td').textContent") == HOSTILE[0]


def test_findings_are_sorted_and_filtered_in_a_browser(tmp_path):
    rows = [("rba", number, f"row {number % 7}") for number in range(200)]
    page = Page("n", "t", "w", "open", [], findings=Findings("All.", ("attack", "finding", "because"), rows))
    (tmp_path / "page.html").write_text(rendered(page), encoding="utf-8")
    with browser(tmp_path) as tab:
        tab.open(tmp_path / "page.html", 1280)
        first = "document.querySelector('#rows tbody tr td:nth-child(2)').textContent"
        click = "document.querySelectorAll('#rows th button')[1].click()"
        assert tab.ask(first) == "0"
        assert tab.ask(f"{click}; {click}; {first}") == "199"
        assert tab.ask("document.querySelectorAll('#rows th')[1].getAttribute('aria-sort')") == "descending"
        typed = "const f = document.getElementById('filter'); f.value = 'ROW 3'; f.dispatchEvent(new Event('input'))"
        tab.ask(f"(() => {{ {typed} }})()")
        assert tab.ask("document.getElementById('shown').textContent") == "29 findings, page 1 of 1"
        assert tab.ask("document.querySelectorAll('#rows tbody tr').length") == 29
        assert tab.complaints == []


def test_cells_of_the_csv_are_no_formulas(tmp_path):
    page = Page("n", "t", "w", "open", [], figures={"columns": ["a", "b"], "rows": [[name, -1.5] for name in HOSTILE]})
    (tmp_path / "page.html").write_text(rendered(page), encoding="utf-8")
    with browser(tmp_path) as tab:
        tab.open(tmp_path / "page.html", 1280)
        catch = "window.made = []; URL.createObjectURL = b => { b.text().then(t => window.made.push(t)); return '#' }"
        tab.ask(f"{catch}; document.getElementById('csv').click()")
        while not tab.ask("window.made.length"):
            pass
        rows = list(csv.reader(io.StringIO(tab.ask("window.made[0]"), newline="")))
    assert [row[0] for row in rows[1:]] == [f"'{name}" if name[0] in "=+-@" else name for name in HOSTILE]
    assert {row[1] for row in rows[1:]} == {"-1.5"}


@pytest.mark.parametrize("kind", ["svg", "png", "pdf"])
def test_a_plot_is_a_picture_of_the_kind_its_name_says(sweep, call, tmp_path, kind):
    out = tmp_path / f"p.{kind}"
    done = call("plot", "--x", "anonymise.k", "--y", "precision", "--by", "attack", "-o", out, "--store", sweep)
    assert done.code == 0, done.err
    assert out.read_bytes().startswith({"svg": b"<svg", "png": b"\x89PNG", "pdf": b"%PDF"}[kind])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--x", "anonymise.kk", "--y", "precision", "--by", "attack"], "did you mean 'anonymise.k'?"),
        (["--x", "anonymise.k", "--y", "precisio", "--by", "attack"], "did you mean 'precision'?"),
        (["--x", "anonymise.k", "--y", "precision"], "'attack' differs as well; add --by attack"),
        (["--x", "attack", "--y", "precision"], "'anonymise.k' differs as well; add --by anonymise.k"),
    ],
)
def test_what_cannot_be_drawn_is_said_in_a_line(sweep, call, tmp_path, arguments, said):
    done = call("plot", *arguments, "-o", tmp_path / "p.svg", "--store", sweep)
    assert done.code == 2
    assert said in done.err
    assert done.err.count("\n") == 1
    assert not (tmp_path / "p.svg").exists()


def test_a_point_is_the_mean_over_repetitions_beside_chance(sweep):
    with closing(connect_readonly(sweep)) as connection:
        study = Study.of(connection, chosen_runs(connection, ["last"]))
        values = connection.execute(
            "select avg(value) from result where measure = ? and attack = ? and variant = ?",
            ("precision", "rba", "anonymise.k=3"),
        ).fetchone()
    (line,) = [line for line in study.series("anonymise.k", "precision", ["attack"]) if line.by == "rba"]
    assert line.points[0].x == 3
    assert line.points[0].value == pytest.approx(values[0])
    assert line.points[0].n == 2
    assert line.points[0].baseline is not None


KIND = (
    "scenario: clinics of a kind\ndata: {generate: clinic, transactions: 40, seed: 7}\n"
    "anonymise: {method: sets, size: 2, share: 0.2}\nrelate: {measure: ngd, source: clinic-counts}\n"
    "attack: [ra, tba]\nrepeat: {times: 2}\n"
)


@pytest.fixture(scope="module")
def study_of_kind(tmp_path_factory):
    """Return a function that runs such clinics; the releases that they have in common are made once."""
    folder = tmp_path_factory.mktemp("kind")

    def run(vary):
        (folder / "s.yaml").write_text(f"{KIND}vary: {vary}\n")
        done = decloak.run(folder / "s.yaml", store=folder / "s.db")
        with closing(connect_readonly(folder / "s.db")) as connection:
            return done, Study.of(connection, read_runs(connection, [run.run for run in done.variants]))

    return run


def test_over_data_sets_there_is_a_panel_for_each_attack_and_a_value_for_each_data_set(study_of_kind):
    done, study = study_of_kind("{data.seed: [1, 2, 3], anonymise.size: [2, 4]}")
    section = sweep_section(study)
    assert [len(drawn.panels) for drawn in section.figures] == [2]
    assert section.title == "Effect of anonymise.size, over data sets"
    (line,) = [line for line in study.over_data.series("anonymise.size", "precision", ["attack"]) if line.by == "tba"]
    for point in line.points:
        means = [
            fmean(
                run.measures["precision", "tba"]
                for run in done.variants
                if run.name == f"data.seed={seed}, anonymise.size={point.x}"
            )
            for seed in (1, 2, 3)
        ]
        assert (point.value, point.n) == (pytest.approx(fmean(means)), 3)


def test_where_data_sets_alone_differ_attacks_lie_across(study_of_kind):
    _, study = study_of_kind("{data.seed: [1, 2, 3]}")
    (drawn,) = sweep_section(study).figures
    assert (drawn.caption, len(drawn.panels)) == ("precision with attack", 1)
    assert [row[1] for row in drawn.table.rows] == ["ra", "tba"]


def test_runs_of_one_data_set_are_drawn_as_they_are(study_of_kind):
    _, study = study_of_kind("{anonymise.size: [2, 4]}")
    assert study.over_data is None
    assert sweep_section(study).title == "Effect of anonymise.size"


def test_no_name_of_an_item_is_on_a_page_unless_asked_for(call, tmp_path):
    rows = ["gout, flu, a's", "gout, flu", "flu, cold", "gout, cold", "a's, cold", "a's, flu"] * 2
    (tmp_path / "d.txt").write_text("\n".join(f"{row}, fever" for row in rows))
    (tmp_path / "s.yaml").write_text(
        "scenario: s\ndata: {file: d.txt, format: basket}\nrelate: {measure: ngd, source: release}\nattack: [tba]\n"
        'anonymise: {method: sets, sets: [[gout, flu], ["a\'s", cold]]}\n'
    )
    decloak.run(tmp_path / "s.yaml", store=tmp_path / "s.db")
    with closing(connect_readonly(tmp_path / "s.db")) as connection:
        assert any("'fever'" in note for note in notes_of(connection, 1)), "a note has to name one"
    page = html.unescape(report(call, tmp_path / "s.db", tmp_path / "p.html"))
    assert not [name for name in ("gout", "flu", "cold", "a's", "fever") if re.search(rf"\b{name}\b", page)]
    assert "sets: 4 items in 2 lists" in page
    named = html.unescape(report(call, tmp_path / "s.db", tmp_path / "q.html", "--with-evidence"))
    assert "gout" in named


def test_notes_count_the_items_that_they_name():
    notes = ["1 of 2: 'x' and 1 more", "1 of 2: 'a', 'b'", "for 'a' with 'b', 'x' with 'a'", "nothing", "'no item'"]
    assert nameless(notes, {"x", "a", "b"}) == ["1 of 2: 2 items", "for 4 items", "nothing", "'no item'"]


BASKETS = """\
scenario: Ways to publish baskets
data: {file: b.txt, format: basket}
anonymise: {method: itemsets, k: 2}
attack: all
measure: [exposure]
"""


def test_a_page_has_all_variants_where_each_form_has_its_own_attacks(call, tmp_path):
    (tmp_path / "b.txt").write_text("a, b\na, b, c\nb\nc, a\nb, c\na\na, b\na, c\nb, c\nc\nb\na, b\nc, d\n")
    vary = "vary: {anonymise: [{method: itemsets, k: 2}, {method: suppression, suppress: items, k: 2, m: 2}]}\n"
    (tmp_path / "s.yaml").write_text(BASKETS.replace("anonymise: {method: itemsets, k: 2}\n", vary))
    assert call("run", tmp_path / "s.yaml", "--store", tmp_path / "s.db").code == 0
    assert call("report", "last", "--store", tmp_path / "s.db", "-o", tmp_path / "p.html").code == 0
    page = (tmp_path / "p.html").read_text()
    assert "is the worst of 2." in page
    for name in ("itemsets", "suppression"):
        assert re.search(rf"<t[hd][^>]*>{name}</t[hd]>", page), name


def test_a_tile_counts_the_people_who_were_looked_up(call, tmp_path):
    (tmp_path / "b.txt").write_text("a, b\na, b, c\nb\nc, a\nb, c\na\na, b\na, c\nb, c\nc\nb\na, b\nc, d\n")
    method = "anonymise: {method: suppression, suppress: items, k: 2, m: 2}"
    (tmp_path / "s.yaml").write_text(BASKETS.replace("anonymise: {method: itemsets, k: 2}", method))
    assert call("run", tmp_path / "s.yaml", "--store", tmp_path / "s.db").code == 0
    assert call("report", "last", "--store", tmp_path / "s.db", "-o", tmp_path / "p.html").code == 0
    text = " ".join(re.sub(r"<[^>]+>", " ", (tmp_path / "p.html").read_text()).split())
    assert "8 of 9 people, in the release" in text, "4 people have one item alone"


@pytest.mark.parametrize(
    ("label", "changes", "state"),
    [
        ("Identifiers", {}, "within the limit"),
        ("Identifiers", {"member_order": verdict.People(3)}, "above the limit"),
        ("Identifiers", {"row_order": verdict.People(3)}, "above the limit"),
        ("Identifiers", {"row_order": verdict.People()}, "unknown"),
        ("Implied items", {"implied": verdict.People(3)}, "above the limit"),
    ],
)
def test_the_state_of_a_line_is_that_of_its_worst_figure(label, changes, state):
    figures = green(verdict, **changes)
    judged = SimpleNamespace(figures=figures, decision=verdict.decide(figures))
    assert assemble._state(label, "", judged)[1] == state


@pytest.mark.parametrize(
    ("bounds", "state"),
    [((0.01, -0.01, 0.02), "within the limit"), ((0.1, 0.06, 0.2), "above the limit"), ((0.04, 0.01, 0.2), "unknown")],
)
def test_the_state_of_inference_is_that_of_its_worst_figure(bounds, state):
    figures = inferring(verdict, "", *bounds)
    judged = SimpleNamespace(figures=figures, decision=verdict.decide(figures))
    assert assemble._state("Inference", "", judged)[1] == state


@pytest.mark.parametrize(("findings", "said"), [(7, "The first 5 findings of run 1."), (5, "All of run 1.")])
def test_a_page_says_that_it_leaves_out_findings_of_its_only_attack(monkeypatch, findings, said):
    rows = [("rba", number, "because") for number in range(findings)]
    monkeypatch.setattr(assemble, "MOST_FINDINGS", 5)
    monkeypatch.setattr(assemble, "list_findings", lambda connection, run, label, most: rows[:most])
    assert assemble._findings(None, 1).said == said


@pytest.mark.parametrize(
    ("figure", "name"), [("certain_links", "links with certainty"), ("covered", "re-associations with certainty")]
)
def test_a_missing_figure_has_its_own_name(figure, name):
    figures = green(verdict, **{figure: verdict.People()})
    assert unknown_figures(SimpleNamespace(figures=figures, decision=verdict.decide(figures))) == ([name], [])


def test_a_figure_of_two_families_is_one_column_of_the_cost(tmp_path):
    data = {"generate": "clinic", "transactions": 60, "seed": 7}
    method = {"method": "disassociation", "k": 3, "m": 2, "max_cluster": 15}
    scenario = {"scenario": "s", "data": data, "anonymise": method, "attack": ["random"], "measure": ["utility"]}
    run = decloak.run(scenario, store=tmp_path / "s.db")
    with closing(connect_readonly(run.store)) as connection:
        (table,) = costs_section(Study.of(connection, read_runs(connection))).tables
    assert "top lost" in table.columns
    assert len(table.columns) == len(set(table.columns))
