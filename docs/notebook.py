"""Run the notebook of the documentation, and write it with its outputs: `python docs/notebook.py`."""

import re
import tempfile
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).parent / "tutorial" / "notebook.ipynb"


def executed(path: Path = NOTEBOOK) -> Any:
    """Return the notebook with new outputs; an error of a cell stays in its outputs."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(
            notebook, timeout=300, kernel_name="python3", allow_errors=True, resources={"metadata": {"path": folder}}
        )
        client.execute()
    for cell in notebook.cells:
        cell.metadata.clear()  # the times of execution
        for output in cell.get("outputs", ()):
            for kind, text in output.get("data", {}).items():
                output["data"][kind] = re.sub(r"/[\w/.-]*/decloak-\w+", "/tmp/decloak", text)
    return notebook


def main() -> None:
    import nbformat

    nbformat.write(executed(), NOTEBOOK)
    print(NOTEBOOK)


if __name__ == "__main__":
    main()
