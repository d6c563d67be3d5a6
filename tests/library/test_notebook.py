"""The notebook of the documentation runs as a notebook, and an error in one is a line."""

import json
import sys
from pathlib import Path

import pytest

import decloak

pytest.importorskip("nbclient", reason="nbclient runs notebooks")

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))

from notebook import NOTEBOOK, executed  # noqa: E402 (it lies beside the pages)

pytestmark = pytest.mark.filterwarnings("ignore")


def outputs(notebook):
    return [output for cell in notebook["cells"] for output in cell.get("outputs", ())]


@pytest.mark.slow
def test_the_notebook_runs_without_an_error_cell():
    done = executed()
    assert [output for output in outputs(done) if output["output_type"] in ("error", "stream")] == []
    assert len(json.dumps(done)) < 60_000
    kinds = {kind for output in outputs(done) for kind in output.get("data", {})}
    assert {"text/html", "image/svg+xml"} <= kinds
    assert not any("<script" in str(output) for output in outputs(done))
    progress = [output for output in outputs(done) if output["output_type"] == "display_data"]
    assert "2 of 2 done" in progress[-1]["data"]["text/plain"]


def test_the_code_of_the_notebook_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)
    assert any(isinstance(value, decloak.Run) and value.measures for value in names.values())


def test_the_committed_notebook_has_outputs_and_is_small():
    assert NOTEBOOK.stat().st_size < 60_000
    committed = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    ran = [cell for cell in committed["cells"] if cell["cell_type"] == "code"]
    assert len(ran) >= 10
    assert all(cell["outputs"] for cell in ran)
    assert not [output for output in outputs(committed) if output["output_type"] == "error"]


def test_an_error_in_a_notebook_is_one_line(tmp_path):
    import nbformat

    cells = [nbformat.v4.new_code_cell("import decloak\ndecloak.anonymise([['a']], 'cutt')", id="cell")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "wrong.ipynb")
    (error,) = outputs(executed(tmp_path / "wrong.ipynb"))
    assert error["traceback"] == ["unknown method 'cutt'; did you mean 'cut'?"]
