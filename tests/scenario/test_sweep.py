"""Sweeps: every combination once, in order, under a name and with a seed of its own."""

import doctest
import hashlib
import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decloak import digest as digest_module
from decloak.digest import digest
from decloak.errors import DecloakError
from decloak.scenario import sweep
from decloak.scenario.document import load
from decloak.scenario.sweep import MOST_VARIANTS, combinations, compact, merged_faults, short_names
from decloak.scenario.variant import Variant, variants
from decloak.yaml.source import Source

BASE: dict[str, Any] = {
    "scenario": "A sweep",
    "data": {"file": "visits.csv", "format": "long"},
    "anonymise": {"method": "sets", "size": 4, "order": "recorded"},
    "relate": {"measure": "ngd", "source": "counts", "file": "counts.csv"},
    "attack": ["mda", {"rule": "rba", "ratio": 1.2}],
}


def sweep_of(folder: Path, *overrides: str, **parts: Any) -> list[Variant]:
    path = folder / "s.yaml"
    path.write_text(json.dumps({**BASE, **parts}))
    return variants(load(path, overrides), lambda scenario: scenario.data.identity(str))


@pytest.mark.parametrize("module", [sweep, digest_module])
def test_the_examples_in_the_docstrings_hold(module: Any) -> None:
    assert doctest.testmod(module).failed == 0


def test_without_vary_there_is_one_variant_named_base(tmp_path: Path) -> None:
    (only,) = sweep_of(tmp_path)
    assert (only.name, only.title, only.settings, only.repetition) == ("base", "base", {}, 1)
    assert only.config == BASE


def test_variants_come_in_the_order_of_the_file_with_the_last_key_fastest(tmp_path: Path) -> None:
    found = sweep_of(tmp_path, vary={"anonymise.size": [4, 2], "attacker.context": [2, "all"]})
    assert [variant.name for variant in found] == [
        "anonymise.size=4, attacker.context=2",
        "anonymise.size=4, attacker.context=all",
        "anonymise.size=2, attacker.context=2",
        "anonymise.size=2, attacker.context=all",
    ]
    assert found[1].settings == {"anonymise.size": 4, "attacker.context": "all"}
    assert found[3].config == {**BASE, "anonymise": {**BASE["anonymise"], "size": 2}, "attacker": {"context": "all"}}
    assert found[3].scenario.attacker.context == "all"


def test_lists_are_varied_by_index_and_whole_parts_by_name(tmp_path: Path) -> None:
    data = [{"file": "a.csv", "format": "long"}, {"file": "b.dat", "format": "spmf"}]
    found = sweep_of(tmp_path, vary={"attack.1.ratio": [1, 1.5], "data": data})
    assert [variant.name for variant in found] == [
        "attack.1.ratio=1, data=a.csv",
        "attack.1.ratio=1, data=b.dat",
        "attack.1.ratio=1.5, data=a.csv",
        "attack.1.ratio=1.5, data=b.dat",
    ]
    assert [variant.scenario.attacks[1].ratio for variant in found] == [1, 1, 1.5, 1.5]


def test_mappings_are_called_by_what_makes_the_difference() -> None:
    coat, cut, wide = ({"method": "coat", "k": 5}, {"method": "cut", "k": 5}, {"method": "cut", "k": 9, "m": 2})
    assert short_names([coat, cut]) == ["coat", "cut"]
    assert short_names([cut, wide]) == ["{k: 5}", "{k: 9, m: 2}"]
    assert short_names([coat, cut, wide]) == [
        "{method: coat, k: 5}",
        "{method: cut, k: 5}",
        "{method: cut, k: 9, m: 2}",
    ]
    assert short_names([cut]) == ["{method: cut, k: 5}"]
    assert short_names([{"file": "a", "ids": True}, {"generate": "clinic"}]) == [
        "{file: a, ids: true}", "{generate: clinic}"
    ]  # fmt: skip
    assert short_names([3, "three", None]) == ["3", "three", "null"]


def test_repetitions_share_the_name_and_differ_in_number_title_and_seed(tmp_path: Path) -> None:
    found = sweep_of(tmp_path, vary={"anonymise.size": [2, 4]}, repeat={"times": 3})
    assert [(variant.name, variant.repetition) for variant in found] == [
        (f"anonymise.size={size}", number) for size in (2, 4) for number in (1, 2, 3)
    ]
    assert found[2].title == "anonymise.size=2 #3"
    assert [variant.seed for variant in found[:3]] == [variant.seed for variant in found[3:]]
    assert len({variant.seed for variant in found}) == 3
    assert all(0 <= variant.seed < 2**63 for variant in found)


def seeds(found: list[Variant]) -> dict[tuple[str, int], int]:
    return {(variant.name, variant.repetition): variant.seed for variant in found}


def test_more_values_and_more_repetitions_leave_the_seeds_there_were(tmp_path: Path) -> None:
    few = seeds(sweep_of(tmp_path, vary={"anonymise.size": [2, 4]}, repeat={"times": 2, "seed": 7}))
    more = seeds(sweep_of(tmp_path, vary={"anonymise.size": [3, 4, 2]}, repeat={"times": 5, "seed": 7}))
    assert few.items() <= more.items()
    assert len(more) == 15
    assert len(set(more.values())) == 5


@pytest.mark.parametrize(
    "change",
    [
        {"scenario": "Renamed"},
        {"measure": ["mining"]},
        {"expect": ["f1(mda) > 0"]},
        {"attack": ["mda", "gba", "rba"]},
        {"attacker": {"context": 2}},
        {"attacker": {}},
        {"repeat": {"times": 1, "seed": 0}},
        {"data": {"format": "long", "file": "visits.csv", "transaction": "tid"}},
        {"vary": {}},
        {"anonymise": {"method": "sets", "size": 5}},
        {"attacker": {"context": 3}},
        {"relate": {"measure": "ngd", "source": "scores", "file": "counts.csv"}},
    ],
)
def test_what_no_random_choice_depends_on_leaves_the_seed(tmp_path: Path, change: dict[str, Any]) -> None:
    assert sweep_of(tmp_path, **change)[0].seed == sweep_of(tmp_path)[0].seed


@pytest.mark.parametrize(
    "change",
    [
        {"repeat": {"seed": 1}},
        {"data": {"file": "other.csv", "format": "long"}},
    ],
)
def test_what_random_choices_depend_on_changes_the_seed(tmp_path: Path, change: dict[str, Any]) -> None:
    assert sweep_of(tmp_path, **change)[0].seed != sweep_of(tmp_path)[0].seed


def test_a_varied_value_has_the_seed_it_has_when_written_in_place(tmp_path: Path) -> None:
    varied = sweep_of(tmp_path, vary={"anonymise.size": [9]})
    written = sweep_of(tmp_path, anonymise={"method": "sets", "size": 9})
    assert varied[0].seed == written[0].seed


def test_a_seed_is_the_same_on_every_machine_and_in_every_version(tmp_path: Path) -> None:
    parts = {"data": {"file": ["visits.csv"], "format": "long"}}
    text = json.dumps([parts, 3, 1], sort_keys=True, separators=(",", ":"))
    assert digest([parts, 3, 1]) == hashlib.sha256(text.encode()).hexdigest()
    assert sweep_of(tmp_path, repeat={"seed": 3})[0].seed == int(digest([parts, 3, 1])[:16], 16) // 2


def test_more_than_ten_thousand_variants_are_refused_where_vary_stands(tmp_path: Path) -> None:
    times = MOST_VARIANTS // 100
    assert (
        len(sweep_of(tmp_path, vary={"anonymise.size": list(range(2, 102))}, repeat={"times": times})) == MOST_VARIANTS
    )
    with pytest.raises(DecloakError) as caught:
        sweep_of(tmp_path, "repeat.times=101", vary={"anonymise.size": list(range(2, 102))})
    assert caught.value.message == "100 combinations repeated 101 times are more than 10000 variants"
    assert str(caught.value.place).startswith(f"{tmp_path}/s.yaml:1:")


def test_a_variant_that_no_one_setting_tells_from_others_is_named_by_all_of_them() -> None:
    source = Source.parse(json.dumps({"vary": {"a": [1, 2], "b\x1b": [1, 2]}}), "f.yaml")
    fault = (source.position(()), DecloakError("wrong", source.location(()), "mend it"))
    told = merged_faults(list(combinations(source, 1)), [[fault], [], [], [fault]])
    assert str(told) == r"f.yaml:1:1: wrong in the variant a=1, b\x1b=1; mend it"


PLAIN = st.one_of(
    st.integers(-99, 99), st.floats(-9, 9), st.booleans(), st.none(), st.text(max_size=3),
    st.sampled_from(["1", "1.0", "true", "null", "~", "", "all", "a b", " a", "a, b", "[1]", "010", ".inf", "-"]),
)  # fmt: skip
VALUES = st.recursive(
    PLAIN, lambda one: st.lists(one, max_size=3) | st.dictionaries(st.text(max_size=2), one, max_size=2), max_leaves=4
)


@settings(max_examples=200)
@given(st.lists(VALUES, min_size=2, max_size=5))
def test_different_values_are_never_written_alike(values: list[object]) -> None:
    different = {json.dumps(value) for value in values}
    assert len({compact(value) for value in values}) == len(different)
    assert not any(character in compact(values) for character in "\n\r\x1b\u202e")


@settings(max_examples=60)
@given(
    st.dictionaries(
        st.sampled_from(["a.b", "a.c", "d", "e.0", "f.g.h"]),
        st.lists(st.integers(0, 99), min_size=1, max_size=4, unique=True),
    )
)
def test_the_sweep_is_the_cross_product(vary: dict[str, list[int]]) -> None:
    source = Source.parse(json.dumps({"e": [0], "vary": vary, "z": 1}), "f.yaml")
    found = list(combinations(source, 1))
    settings = [{key: node.value for key, node in variant.settings.items()} for variant in found]
    assert [tuple(chosen.values()) for chosen in settings] == list(product(*vary.values()))
    for chosen, variant in zip(settings, found, strict=True):
        assert list(chosen) == list(vary)
        assert variant.value == naive({"e": [0], "z": 1}, chosen)


def naive(config: dict[str, Any], chosen: dict[str, Any]) -> dict[str, Any]:
    for dotted, value in chosen.items():
        *outer, last = dotted.split(".")
        inner: Any = config
        for key in outer:
            inner = inner.setdefault(key, {})
        inner[int(last) if isinstance(inner, list) else last] = value
    return config


def test_a_digest_ignores_the_order_of_keys_and_nothing_else() -> None:
    assert digest({"a": [1, {"b": 2, "c": "ä"}]}) == digest({"a": [1, {"c": "ä", "b": 2}]})
    different = [{}, [], "", 0, None, False, 0.5, "0", [0], [[0]], {"a": 0}, {"a": [0]}, {"b": 0}, "ä", [1, 2], [2, 1]]
    assert len({digest(value) for value in different}) == len(different)
    with pytest.raises(ValueError, match="not JSON compliant"):
        digest(float("nan"))
