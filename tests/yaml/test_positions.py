"""YAML with places: what is read, what is refused and where, and how a model's mistakes are told."""

import doctest
import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, RootModel, model_validator

from decloak.errors import DecloakError, Faults
from decloak.scenario.sweep import merged_faults
from decloak.yaml import messages
from decloak.yaml import source as positions
from decloak.yaml import tree as yamltree
from decloak.yaml.source import LARGEST_YAML, LocatedErrors, Source, check, read_source, validated
from decloak.yaml.tree import DEEPEST, MOST, WIDEST

BOTH = pytest.mark.parametrize("loader", [yaml.SafeLoader, getattr(yaml, "CSafeLoader", yaml.SafeLoader)])


def parse(text: str) -> Source:
    return Source.parse(text, "f.yaml")


def answer(action: Callable[[], object]) -> list[str]:
    """The lines of a mistake's message; any exception but DecloakError fails the test."""
    try:
        action()
    except DecloakError as error:
        return str(error).splitlines()
    return ["fine"]


def refused(text: str) -> str:
    with pytest.raises(DecloakError) as caught:
        parse(text)
    return str(caught.value)


@pytest.mark.parametrize("module", [positions, messages, yamltree])
def test_the_examples_in_the_docstrings_hold(module: Any) -> None:
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *((word, word) for word in ("no", "yes", "on", "off", "y", "N", "NO", "tRue", "nULL", "=")),
        ("true", True), ("True", True), ("TRUE", True), ("false", False), ("False", False),
        ("", None), ("~", None), ("null", None), ("Null", None), ("NULL", None),
        ("12:30", "12:30"), ("190:20:30", "190:20:30"), ("2020-01-01", "2020-01-01"), ("1_000", "1_000"),
        ("1,5", "1,5"), ("0b11", "0b11"), ("1e", "1e"), (".", "."), ("-", "-"), ("0x", "0x"), ("-0x1", "-0x1"),
        ("0", 0), ("-0", 0), ("+7", 7), ("-12", -12), ("0o17", 15), ("0x1F", 31), (str(WIDEST), WIDEST),
        ("010", "010"), ("-010", "-010"), ("00", "00"), ("010.5", "010.5"), ("017e3", "017e3"),
        ("1e-3", 0.001), ("1E5", 100_000.0), ("1e5", 100_000.0), (".5", 0.5), ("1.", 1.0), ("-1.5e+2", -150.0),
        ("0.5", 0.5), ("1e-400", 0.0), ("٣", "٣"),
    ],
)  # fmt: skip
def test_plain_scalars_read_as_in_yaml_1_2_and_leading_zeros_stay_text(text: str, value: object) -> None:
    assert yamltree.number_or_text(text) == value
    assert type(yamltree.number_or_text(text)) is type(value)


@pytest.mark.parametrize("text", ["'3'", '"true"', "'~'", "|-\n  3", ">-\n  no"])
def test_quoted_and_block_scalars_are_text(text: str) -> None:
    assert isinstance(parse(f"a: {text}").value["a"], str)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: 2\na: 3", ("f.yaml:3:1: the key 'a' is written twice; "
                             "it was first written at f.yaml:1:1; delete one of the two")),
        ("a: {b: 1, b: 1}", ("f.yaml:1:11: the key 'b' is written twice; "
                            "it was first written at f.yaml:1:5; delete one of the two")),
        ("x: &x {a: 1}\ny:\n  <<: *x", "f.yaml:3:3: merge keys '<<' are not read; write the keys out"),
        ("a: !!python/object/apply:os.system [ls]",
         "f.yaml:1:4: the tag '!!python/object/apply:os.system' is not allowed; delete it"),
        ("!x {a: 1}", "f.yaml:1:1: the tag '!x' is not allowed; delete it"),
        ("a: !!str 3", "f.yaml:1:4: the tag '!!str' is not allowed; delete it"),
        ("a: 1\n---\nb: 2", "f.yaml:2:1: a second document begins here; keep one document a file, delete the '---'"),
        ("a: &a [*a]", "f.yaml:1:8: the alias 'a' holds itself; write the value out"),
        ("a: *z", "f.yaml:1:4: no anchor 'z' before this alias; write & and the name there"),
        ("1: x", "f.yaml:1:1: a key must be text; put it in quotes"),
        ("a: {true: x}", "f.yaml:1:5: a key must be text; put it in quotes"),
        ("? [a]\n: x", "f.yaml:1:3: a key must be text; put it in quotes"),
        ("a: .nan", ("f.yaml:1:4: '.nan' is not a finite number; "
                    "write a number below 1e308, or quote it to make it text")),
        ("a: [1, -.INF]", ("f.yaml:1:8: '-.INF' is not a finite number; "
                          "write a number below 1e308, or quote it to make it text")),
        ("a: 1e999", ("f.yaml:1:4: '1e999' is not a finite number; "
                     "write a number below 1e308, or quote it to make it text")),
        ("a: -9223372036854775808", ("f.yaml:1:4: '-9223372036854775808' is too large; "
                                    "write a whole number up to 9223372036854775807, or quote it to make it text")),
        ("a: " + "9" * 10_000, (f"f.yaml:1:4: '{'9' * 60}…' is too large; "
                               "write a whole number up to 9223372036854775807, or quote it to make it text")),
        ("a: 0x" + "f" * 40, (f"f.yaml:1:4: '0x{'f' * 40}' is too large; "
                             "write a whole number up to 9223372036854775807, or quote it to make it text")),
        ("[" * 200_000, "f.yaml:1:51: nested deeper than 50 levels; write it flatter"),
        ("- " * 200_000, "f.yaml:1:101: nested deeper than 50 levels; write it flatter"),
        ("", "f.yaml: the file is empty; write keys and values; `decloak init` writes an example"),
        ("\n# only a remark\n", "f.yaml: the file is empty; write keys and values; `decloak init` writes an example"),
        ("a: b\x00c", "f.yaml:1:5: '\\x00' is not a readable character; delete it, or save the file as text"),
        ("a: 1\nb: \x1b[31m", "f.yaml:2:4: '\\x1b' is not a readable character; delete it, or save the file as text"),
        ("a: \ud800", "f.yaml:1:4: '\\ud800' is not a readable character; delete it, or save the file as text"),
        ('a: "b\\0"', "f.yaml:1:4: 'b\\x00' holds a character no text may hold; delete it"),
        ("a:\n\tb: 1", ("f.yaml:2:1: cannot read the YAML: found character that cannot start any token; "
                       "indent with spaces instead of tabs, and quote text that begins with @, ` or %")),
        ("a: b: c", ("f.yaml:1:5: cannot read the YAML: mapping values are not allowed in this context; "
                    "write a colon after every key, and quote text that holds ': '")),
        ("a: [1\nb: 2", ("f.yaml:2:2: cannot read the YAML: did not find expected ',' or ']'; "
                        "check indentation, brackets and quotes from line 1 on")),
        ("a: 'x", "f.yaml:1:6: cannot read the YAML: found unexpected end of stream; close the quote"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_told_in_one_line_with_its_place(text: str, message: str) -> None:
    assert refused(text) == message


def bomb(levels: int) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, levels)]
    return "\n".join(lines)


def test_an_alias_bomb_is_refused_where_its_sum_passes_the_bound_however_far_it_goes() -> None:
    place = refused(bomb(5)).split(": ")[0]
    assert place == refused(bomb(1_000)).split(": ")[0] == "f.yaml:5:45"  # at the eighth


def test_aliases_count_as_what_they_stand_for_in_number_and_in_depth() -> None:
    few = [f"a: &a [{', '.join(['x'] * 998)}]", f"b: [{', '.join(['*a'] * 98)}]"]
    assert len(parse("\n".join(few)).value["b"]) == 98
    more = [few[0], f"b: [{', '.join(['*a'] * 101)}]"]
    assert refused("\n".join(more)).endswith(f"more than {MOST} values, aliases expanded; keep bulk data in files")
    chain = ["a0: &a0 [x]"] + [f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, DEEPEST)]
    assert "nested deeper than 50 levels" in refused("\n".join(chain))
    assert parse("\n".join(chain[: DEEPEST - 3]))


def test_aliases_of_texts_and_lists_give_their_values() -> None:
    assert parse("&a k: &l [1, *a]\nm: *l").value == {"k": [1, "k"], "m": [1, "k"]}


def test_places_are_those_of_keys_and_values_and_of_what_encloses_the_absent() -> None:
    source = parse("data:\n  file: a.csv\n  sets: [[x], [y, z]]\nnone:\n")
    assert source.location(()) == "f.yaml:1:1"
    assert source.location(("data",)) == "f.yaml:2:3"
    assert source.location(("data",), key=True) == "f.yaml:1:1"
    assert source.location(("data", "file")) == "f.yaml:2:9"
    assert source.location(("data", "sets", 1, 1)) == "f.yaml:3:19"
    assert source.location(("data", "absent", "deeper")) == "f.yaml:2:3"
    assert source.location(("data", "absent"), key=True) == "f.yaml:2:3"
    assert source.location(("none",)) == "f.yaml:4:6"
    assert str(source.error(("none",), "x", "y")) == "f.yaml:4:6: x; y"


@BOTH
def test_columns_count_characters_behind_a_byte_order_mark_and_wide_letters(
    loader: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(yamltree, "_LOADER", loader)
    path = tmp_path / "a.yaml"
    path.write_bytes("\ufeffä𝄞: {é: 3}\r\nb: 2\r\n".encode())
    source = read_source(path)
    assert source.value == {"ä𝄞": {"é": 3}, "b": 2}
    assert source.location(("ä𝄞",), key=True) == f"{path}:1:1"
    assert source.location(("ä𝄞", "é")) == f"{path}:1:9"
    assert source.location(("b",)) == f"{path}:2:4"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", ": the file is empty; write keys and values; `decloak init` writes an example"),
        (b"a: 1\nb: \xff", ":2:4: not UTF-8 text; save the file as UTF-8"),
        ("a: 1".encode("utf-16"), ":1:1: not UTF-8 text; save the file as UTF-8"),
        (b"\x7fELF\x02\x01", ":1:1: '\\x7f' is not a readable character; delete it, or save the file as text"),
        (b"x" * (LARGEST_YAML + 1), ": a YAML file of more than 1 MB; keep bulk data in files of their own"),
    ],
)
def test_a_file_that_is_no_yaml_text_is_refused(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(data)
    with pytest.raises(DecloakError) as caught:
        read_source(path)
    assert str(caught.value) == f"{path}{message}"


def test_a_path_that_is_no_file_is_refused(tmp_path: Path) -> None:
    for path, message in {
        tmp_path: f"{tmp_path}: this is a folder, not a file; name a .yaml file",
        tmp_path / "no\nsuch": f"{tmp_path}/no\\x0asuch: no such file; check the spelling of the path",
        Path("a\0b"): "a\\x00b: no file can have this name; remove what is no text from it",
    }.items():
        with pytest.raises(DecloakError) as caught:
            read_source(path)
        assert str(caught.value) == message


def test_a_file_of_one_long_line_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("a: " + "x" * (LARGEST_YAML - 3))
    assert len(read_source(path).value["a"]) == LARGEST_YAML - 3


texts = st.text(st.characters(exclude_categories=["C", "Zl", "Zp"]), max_size=8)
scalars = texts | st.integers(-WIDEST, WIDEST) | st.booleans() | st.none() | st.floats(-1e300, 1e300)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4), max_leaves=12
)


def as_json(value: object) -> str:
    """JSON is YAML, except for its escapes of characters beyond U+FFFF."""
    return json.dumps(value, ensure_ascii=False)


@BOTH
@settings(max_examples=60)
@given(value=values)
def test_what_json_says_is_read_as_json_means_it(loader: Any, value: object) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(yamltree, "_LOADER", loader)
        source = parse(as_json(value))
        assert source.value == value
        assert_places(source, source.value, ())


def assert_places(source: Source, value: object, loc: tuple[str | int, ...]) -> None:
    """Each value is found under its own location, and stands within the text."""
    assert source.find(loc).value == value
    assert source.position(loc).line == 1
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        assert source.position((*loc, key)).column > source.position(loc).column
        assert_places(source, one, (*loc, key))


@BOTH
@settings(max_examples=150)
@given(data=st.binary(max_size=60))
def test_random_bytes_give_a_value_or_one_line(loader: Any, data: bytes, tmp_path_factory: Any) -> None:
    path = tmp_path_factory.getbasetemp() / "random.yaml"
    path.write_bytes(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(yamltree, "_LOADER", loader)
        assert len(answer(lambda: read_source(path))) == 1


@BOTH
@settings(max_examples=300)
@given(text=st.text("[]{}:,&*!-?|>'\"%@ \n\tab1.e#<~\\xU0\r", max_size=25))
def test_random_yaml_marks_give_a_value_or_one_line(loader: Any, text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(yamltree, "_LOADER", loader)
        assert len(answer(lambda: parse(text))) == 1


def test_put_replaces_adds_and_counts_into_lists_without_touching_the_original() -> None:
    source = parse("a: {b: 1, c: [x, y]}\nd:")
    node, place = parse("7").root, parse("z: 1").position(("z",), key=True)
    assert source.put(("a", "b"), node, place).value == {"a": {"b": 7, "c": ["x", "y"]}, "d": None}
    assert source.put(("a", "c", "1"), node, place).value["a"] == {"b": 1, "c": ["x", 7]}
    assert source.put(("d", "e", "f"), node, place).value["d"] == {"e": {"f": 7}}
    assert source.put((), node, place).value == 7
    assert source.value == {"a": {"b": 1, "c": ["x", "y"]}, "d": None}


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (("a", "b", "c"), "'c' cannot be set inside '1', which holds no keys; write keys and values at f.yaml:1:8"),
        (("a", "c", "2"), "no entry '2' in the list at f.yaml:1:14; count from 0 to 1"),
        (("a", "c", "01"), "no entry '01' in the list at f.yaml:1:14; count from 0 to 1"),
        (("a", "c", "-1"), "no entry '-1' in the list at f.yaml:1:14; count from 0 to 1"),
        (("a", "c", "²"), "no entry '²' in the list at f.yaml:1:14; count from 0 to 1"),
        (("e", "0"), "no entry '0' in the list at f.yaml:2:4; the list is empty"),
    ],
)
def test_put_refuses_what_leads_nowhere(keys: tuple[str, ...], message: str) -> None:
    source = parse("a: {b: 1, c: [x, y]}\ne: []")
    with pytest.raises(DecloakError) as caught:
        source.put(keys, parse("7").root, source.position(()))
    assert str(caught.value) == f"f.yaml:1:1: {message}"


class Closed(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Pseudo(Closed):
    pseudo_count: float = Field(gt=0)


class Cut(Closed):
    method: Literal["cut"]
    k: int = Field(ge=2)
    quasi_identifiers: tuple[str, ...] = ()


class Sets(Closed):
    method: Literal["sets"]
    sets: tuple[tuple[str, ...], ...] = Field((), min_length=1)


def only_even(value: int) -> int:
    if value % 2:
        raise ValueError("an odd number")
    return value


def unlike(value: str) -> str:
    if value == "raw":
        raise DecloakError("raw is no word", hint="cook it")
    if value == "bad":
        raise LocatedErrors(((), DecloakError("bad is no word", hint="write good")))
    return value


class Model(Closed):
    anonymise: Cut | Sets | None = Field(None, discriminator="method")
    unseen: Literal["none"] | Annotated[float, Field(ge=0)] | Pseudo = "none"
    context: Annotated[int, Field(ge=1)] | Literal["all"] = 2
    m: int = Field(1, ge=1, le=4)
    share: float = Field(0.5, gt=0, lt=1)
    marked: bool = True
    title: str = Field("x", min_length=1, max_length=5)
    code: str = Field("a", pattern="^[a-z]$")
    source: Literal["counts", "scores"] = "counts"
    names: dict[Annotated[str, Field(min_length=2)], tuple[int, ...]] = {}
    pair: tuple[int, str] = (1, "x")
    words: str | list[str] = "x"
    rows: list[Pseudo] | dict[str, Pseudo] = []
    even: Annotated[int, AfterValidator(only_even)] = 0
    word: Annotated[str, AfterValidator(unlike)] | float = "x"
    alias: int = Field(0, alias="as")
    free: Any = None
    flag: None = None

    @model_validator(mode="after")
    def _agree(self) -> "Model":
        if self.m == 4 and self.marked:
            raise LocatedErrors(
                (("m",), DecloakError("4 is for unmarked data")), (("marked",), DecloakError("marked", hint="unmark"))
            )
        return self


def told(text: str, model: type[BaseModel] = Model) -> list[str]:
    with pytest.raises(DecloakError) as caught:
        check(parse(text), model)
    return str(caught.value).splitlines()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("m: 'three'", "1:4: expected a whole number from 1 to 4, found 'three'"),
        ("m: '3'", "1:4: expected a whole number from 1 to 4, found '3'; write it without quotes"),
        ("m: 0", "1:4: expected a whole number from 1 to 4, found 0"),
        ("m: 1.5", "1:4: expected a whole number from 1 to 4, found 1.5"),
        ("m: 1.0", "1:4: expected a whole number from 1 to 4, found 1.0"),
        ("m: true", "1:4: expected a whole number from 1 to 4, found true"),
        ("m:", "1:3: expected a whole number from 1 to 4, found nothing"),
        ("m: [1]", "1:4: expected a whole number from 1 to 4, found a list of 1 entry"),
        ("m: {}", "1:4: expected a whole number from 1 to 4, found an empty mapping"),
        ("context: 0", "1:10: expected a whole number, at least 1, or 'all', found 0"),
        ("context: al", "1:10: expected a whole number, at least 1, or 'all', found 'al'; did you mean 'all'?"),
        ("share: 1", "1:8: expected a number, above 0, below 1, found 1"),
        ("share: half", "1:8: expected a number, above 0, below 1, found 'half'"),
        ("share: '.5'", "1:8: expected a number, above 0, below 1, found '.5'; write it without quotes"),
        ("marked: yes", "1:9: expected true or false, found 'yes'"),
        ("marked: 1", "1:9: expected true or false, found 1"),
        ("title: 3", "1:8: expected text of at least 1 characters and at most 5 characters, found 3; put it in quotes"),
        ("title: abcdef", "1:8: expected text of at least 1 characters and at most 5 characters, found 'abcdef'"),
        ("source: count", "1:9: expected 'counts' or 'scores', found 'count'; did you mean 'counts'?"),
        ("source: [counts]", "1:9: expected 'counts' or 'scores', found a list of 1 entry"),
        ("names: [a]", "1:8: expected a mapping, found a list of 1 entry"),
        ("names: {ab: 3}", "1:13: expected a list, found 3; write [3]"),
        ("names: {ab: [x]}", "1:14: expected a whole number, found 'x'"),
        ("names: {a: []}", "1:9: expected text of at least 2 characters, found 'a'"),
        ("pair: [x, y]", "1:8: expected a whole number, found 'x'"),
        ("words: {a: b}", "1:8: expected text or a list, found a mapping"),
        ("words: [a, 3]", "1:12: expected text, found 3; put it in quotes"),
        ("rows: [{pseudo_count: 0}]", "1:23: expected a number, above 0, found 0"),
        ("rows: {a: {pseudo_count: 0}}", "1:26: expected a number, above 0, found 0"),
        ("unseen: {}", "1:9: missing key 'pseudo_count'; add it"),
        ("unseen: {pseudo_count: no}", "1:24: expected a number, above 0, found 'no'"),
        ("unseen: non", ("1:9: expected 'none', a number, at least 0, or a mapping with pseudo_count, found 'non'; "
                        "did you mean 'none'?")),
        ("unseen: true", "1:9: expected 'none', a number, at least 0, or a mapping with pseudo_count, found true"),
        ("anonymise: cut", "1:12: expected a mapping with the key 'method', found 'cut'; write {method: cut}"),
        ("anonymise: {}", "1:12: missing key 'method'; add it"),
        ("anonymise: {method: cutt}", "1:21: expected 'cut' or 'sets', found 'cutt'; did you mean 'cut'?"),
        ("anonymise: {method: [cut]}", "1:21: expected 'cut' or 'sets', found a list of 1 entry"),
        ("anonymise: {method: cut}", "1:12: missing key 'k'; add it"),
        ("anonymise: {method: cut, k: 2, quasi: [a]}", "1:32: unknown key 'quasi'; did you mean 'quasi_identifiers'?"),
        ("anonymise: {method: cut, k: 2, zzz: 1}", "1:32: unknown key 'zzz'; known here: method, k, quasi_identifiers"),
        ("anonymise: {method: sets, sets: [[a], [3]]}", "1:40: expected text, found 3; put it in quotes"),
        ("anonymise: {method: sets, sets: []}", "1:33: expected a list that is not empty, found an empty list"),
        ("anonymise: {method: sets, sets: [3]}", "1:34: expected a list, found 3; write [3]"),
        ("even: 3", "1:7: an odd number"),
        ("word: bad", "1:7: bad is no word; write good"),
        ("word: [bad]", "1:7: expected text or a number, found a list of 1 entry"),
        ("word: raw", "1:1: raw is no word; cook it"),
        ("as: x", "1:5: expected a whole number, found 'x'"),
        ("alias: 1", ("1:1: unknown key 'alias'; known here: anonymise, unseen, context, m, share, marked, "
                     "title, code, source, names, pair, words, rows, even, word, as, free, flag")),
        ("flag: 3", "1:7: expected nothing, found 3"),
        ("code: AB", "1:7: expected text, found 'AB'"),
        ("- 1", "1:1: expected a mapping, found a list of 1 entry"),
        ("~", "1:1: expected a mapping, found nothing"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_in_plain_words_at_its_place(text: str, message: str) -> None:
    assert told(text) == [f"f.yaml:{message}"]


def test_all_mistakes_come_at_once_in_the_order_of_the_file() -> None:
    assert told("zz: 1\nm: 9\nanonymise:\n  method: cut\n  quasi: [a]\nshare: x\n") == [
        (
            "f.yaml:1:1: unknown key 'zz'; known here: anonymise, unseen, context, m, share, marked, "
            "title, code, source, names, pair, words, rows, even, word, as, free, flag"
        ),
        "f.yaml:2:4: expected a whole number from 1 to 4, found 9",
        "f.yaml:4:3: missing key 'k'; add it",
        "f.yaml:5:3: unknown key 'quasi'; did you mean 'quasi_identifiers'?",
        "f.yaml:6:8: expected a number, above 0, below 1, found 'x'",
    ]


def test_a_validator_may_report_several_mistakes_below_its_value() -> None:
    assert told("marked: true\nm: 4") == ["f.yaml:1:1: marked; unmark", "f.yaml:2:1: 4 is for unmarked data"]


def test_faults_keep_each_mistake_apart() -> None:
    with pytest.raises(Faults) as caught:
        check(parse("m: 0\nshare: 2"), Model)
    assert [fault.place for fault in caught.value.faults] == ["f.yaml:1:4", "f.yaml:2:8"]


def test_a_valid_document_becomes_the_model_with_lists_as_tuples() -> None:
    model = check(parse("anonymise: {method: cut, k: 3, quasi_identifiers: [a]}\nshare: 0.25\nas: 3"), Model)
    assert model.anonymise == Cut(method="cut", k=3, quasi_identifiers=("a",))
    assert (model.share, model.alias) == (0.25, 3)


def test_a_part_of_a_document_is_checked_at_its_own_places() -> None:
    source = parse("a:\n- pseudo_count: 1\n- pseudo_count: x\n")
    assert check(source, Pseudo, ("a", 0)).pseudo_count == 1
    with pytest.raises(DecloakError, match=r"^f\.yaml:3:17: expected a number, above 0, found 'x'$"):
        check(source, Pseudo, ("a", 1))


def test_a_mistake_that_variants_share_is_told_once() -> None:
    source = parse("m: 0\nshare: 0.5")
    variants = [source, *(source.put(("share",), parse(text).root, source.position(())) for text in ("0.1", "7"))]
    faults = merged_faults(variants, [validated(variant, Model)[1] for variant in variants])
    assert [fault.message for fault in faults.faults] == [
        "expected a number, above 0, below 1, found 7", "expected a whole number from 1 to 4, found 0",
    ]  # fmt: skip


@pytest.mark.parametrize("kinds", [Pseudo | Cut, Cut | Pseudo])
def test_of_several_mappings_the_one_that_fits_best_speaks(kinds: Any) -> None:
    assert told("{method: cut, kk: 2}", RootModel[kinds]) == [
        "f.yaml:1:15: unknown key 'kk'; did you mean 'k'?",
    ]
    assert told("pseudo_count: x", RootModel[kinds]) == ["f.yaml:1:15: expected a number, above 0, found 'x'"]


def test_recursive_and_root_models_are_followed() -> None:
    class Tree(Closed):
        name: str
        inner: "list[Tree]" = []

    assert told("- {name: a, inner: [{name: b, inner: [{nam: c}]}]}", RootModel[list[Tree]]) == [
        "f.yaml:1:40: unknown key 'nam'; did you mean 'name'?",
    ]


@settings(max_examples=300)
@given(
    st.dictionaries(st.sampled_from([*Model.model_fields, "as", "zz"]), values | st.just({"method": "cut"}), max_size=4)
)
def test_any_document_is_a_model_or_one_line_a_mistake_with_a_place(value: dict[str, object]) -> None:
    lines = answer(lambda: check(parse(as_json(value)), Model))
    assert lines == ["fine"] or all(line.startswith("f.yaml:1:") for line in lines)
    assert not any("Input should" in line for line in lines)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'["\ud83d\ude00"]', ["😀"]),
        (r'{"a\uD83D\uDE00b": "\\\ud83d\ude00"}', {"a😀b": "\\😀"}),
        (r'["\\ud83d\\ude00", "\\ud83d\ude00"]', None),
        (r'["\\ud83d\\ude00"]', [r"\ud83d\ude00"]),
        (r'["\ud83d"]', None),
        (r'["\ude00\ud83d"]', None),
        (r"- \ud83d\ude00", [r"\ud83d\ude00"]),
    ],
)
def test_two_escapes_that_are_one_character_in_json_are_so_here(text, value):
    if value is None:
        with pytest.raises(DecloakError):
            yamltree.compose(text, "x.json")
    else:
        assert yamltree.compose(text, "x.json").value == value
        if text.startswith(("[", "{")):
            assert json.loads(text) == value
