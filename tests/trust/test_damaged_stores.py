"""A store that was cut short or has flipped bits is answered in one line, whatever is asked of it."""

import random
import shutil

import pytest
from studies import written

import decloak

ASKED = {
    "runs": ("runs",),
    "show": ("show", "last"),
    "compare": ("compare", "1", "last"),
    "explain": ("explain", "last"),
    "sql": ("sql", "select * from named_struck limit 5"),
    "sql of rows": ("sql", "select count(*), sum(item) from contains"),
    "graph": ("graph", "--format", "json"),
    "publish": ("publish", "last", "{folder}/out.txt"),
    "report": ("report", "last", "-o", "{folder}/page.html"),
    "run": ("run", "{folder}/s.yaml"),
}


def damaged(data: bytes, rng: random.Random) -> bytes:
    if rng.random() < 0.3:
        return data[: rng.randrange(len(data))]
    spoilt = bytearray(data)
    for _ in range(rng.choice((1, 8, 200))):
        at = rng.randrange(rng.choice((4096, len(spoilt))))
        spoilt[at] ^= 1 << rng.randrange(8)
    return bytes(spoilt)


@pytest.mark.parametrize("asked", ASKED)
def test_a_damaged_store_is_answered_in_a_line(tmp_path, tries, call, asked):
    originals = {}
    for form in ("sets", "disassociation"):
        decloak.run(written(tmp_path / form, form), store=tmp_path / form / "s.db")
        originals[form] = (tmp_path / form / "s.db").read_bytes()
    for number in tries(6):
        rng = random.Random(f"{asked} {number}")
        form = rng.choice(list(originals))
        folder = tmp_path / f"{number}"
        shutil.copytree(tmp_path / form, folder)
        (folder / "s.db").write_bytes(damaged(originals[form], rng))
        arguments = [word.format(folder=folder) for word in ASKED[asked]]
        said = call(*arguments, "--store", folder / "s.db")
        assert said.code in (0, 2, 3), said.err
        assert "fault inside" not in said.err
        if said.code == 2:
            assert sum(line.startswith("decloak: ") for line in said.err.splitlines()) == 1, said.err
        shutil.rmtree(folder)
