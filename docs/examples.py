"""Write what the README and the pages show: the output of commands, figures, and the picture of the report.

    python docs/examples.py [PAGE...]

Without a page it writes all of them. README.md includes the picture, which needs Chromium. tests/test_docs.py fails
when a file is not what this would write.

A figure in the prose of the README is followed by a comment that says which figure it is: 120<!-- struck of rba -->.
"""

import doctest
import html
import io
import math
import os
import re
import shlex
import shutil
import struct
import sys
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from shutil import copyfile

import decloak
from decloak.cli import _code
from decloak.data.published import read_published
from decloak.report import progress

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PICTURE = ROOT / "docs" / "pictures" / "report.png"
PAGES = sorted(
    page
    for folder in ("how-to", "tutorial")
    for page in (ROOT / "docs" / folder).glob("*.md")
    if "\n$ decloak " in page.read_text(encoding="utf-8")
)
BLOCK = re.compile(r"(?:<!-- file: (?P<file>\S+) -->\n)?```(?P<kind>\w+)\n(?P<text>.*?)```", re.DOTALL)
FIGURE = re.compile(r"[\d,.]*\d<!-- (?P<name>[^>]+?) -->")
DEMO = ("decloak run mine.yaml", "decloak explain last p01 insulin --attack rba")
WIDTH = 1120


def lines_of(command: str) -> list[str]:
    """Run a command of decloak in the current folder; return what it prints, notes last."""
    program, *words = shlex.split(command)
    assert program == "decloak"
    out, err = io.StringIO(), io.StringIO()
    soon, progress.SOON = progress.SOON, math.inf  # a slow machine says how far a run is
    try:
        with redirect_stdout(out), redirect_stderr(err):
            _code(words)
    finally:
        progress.SOON = soon
    return [line.rstrip() for line in (out.getvalue() + err.getvalue()).splitlines()]


def rewritten(page: Path) -> str:
    """Return a page with the output of its commands as it is now; its files go into the current folder."""
    for data in page.parent.glob("*.csv"):
        copyfile(data, data.name)
    return BLOCK.sub(_printed, page.read_text(encoding="utf-8"))


def _printed(block: re.Match[str]) -> str:
    if block["file"]:
        Path(block["file"]).write_text(block["text"], encoding="utf-8")
    if block["kind"] == "python":  # it may write a file that a later command reads
        doctest.DocTestRunner().run(doctest.DocTestParser().get_doctest(block["text"], {}, "page", None, None))
    if block["kind"] != "console":
        return block[0]
    commands = [part.splitlines()[0] for part in re.split(r"^\$ ", block["text"], flags=re.MULTILINE)[1:]]
    if not commands:
        return block[0]
    shown = [line for command in commands for line in (f"$ {command}", *lines_of(command))]
    return _with_text(block, "".join(f"{line}\n" for line in shown))


def _with_text(block: re.Match[str], text: str) -> str:
    start, end = (place - block.start() for place in block.span("text"))
    return block[0][:start] + text + block[0][end:]


def readme() -> str:
    """Return the README with the demo, the answer to a mistake and the figures as they are now."""
    lines_of("decloak init mine.yaml")
    demo = [line for command in DEMO for line in lines_of(command)]
    text = README.read_text(encoding="utf-8")
    shown = iter([demo, _mistake(text)])
    text = BLOCK.sub(
        lambda block: _with_text(block, "\n".join([*next(shown), ""])) if block["kind"] == "text" else block[0], text
    )
    figures = _figures()
    return FIGURE.sub(lambda figure: f"{figures[figure['name']]}<!-- {figure['name']} -->", text)


def _mistake(text: str) -> list[str]:
    """The answer to the scenario of the demo with the misspelt name that the README has."""
    *_, shown = (block["text"] for block in BLOCK.finditer(text) if block["kind"] == "text")
    wrong, right = re.findall(r"'(\w+)'", shown)
    mine = Path("mine.yaml").read_text(encoding="utf-8")
    Path("mine.yaml").write_text(mine.replace(right, wrong), encoding="utf-8")
    answer = lines_of(DEMO[0])
    Path("mine.yaml").write_text(mine, encoding="utf-8")
    return answer


def _figures() -> Mapping[str, str]:
    """The figures of the demo's run that the prose may name."""
    run = decloak.run("mine.yaml")
    found = {f"{one.measure} of {one.attack}": _number(one.value) for one in run.measures if one.value is not None}
    release = read_published("quickstart/published.txt", ids=True)
    hidden = sum(len(element) for row in release.transactions for element in row if isinstance(element, tuple))
    return found | {"people": str(len(release.transactions)), "members": str(hidden)}


def _number(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.3g}"


def demo_page() -> Path:
    """Make the page that `make demo` ends with."""
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        _code(["run", str(ROOT / "scenarios" / "gallery" / "clinic-methods.yaml"), "--store", "demo.db"])
        _code(["report", "last", "--store", "demo.db", "-o", "demo.html"])
    return Path("demo.html")


def pictured(page: Path) -> str:
    """Return the text of a page that the picture shows: its verdict and its first section."""
    text = page.read_text(encoding="utf-8")
    start = text.index("<header>")
    first = text.index("\n<section id=", start)
    shown = text[start : text.index("\n<section id=", first + 1)]
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", shown)).split())


def picture(page: Path) -> bytes:
    """Return a picture of the beginning of a page as PNG, with the text that it shows as its description."""
    sys.path.insert(0, str(ROOT / "tests"))
    from base64 import b64decode

    from browser import browser

    with tempfile.TemporaryDirectory() as folder, browser(Path(folder)) as tab:
        tab.open(page, WIDTH)
        end = tab.ask("document.querySelectorAll('main > section[id]')[1].getBoundingClientRect().top")
        clip = {"x": 0, "y": 0, "width": WIDTH, "height": math.ceil(end), "scale": 1}
        shot = tab.call("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)
    return _described(b64decode(shot["data"]), pictured(page))


def _described(png: bytes, text: str) -> bytes:
    """A PNG with a description, which follows its header."""
    body = b"iTXtDescription\0\0\0\0\0" + text.encode()
    chunk = struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))
    return png[:33] + chunk + png[33:]


def description(png: bytes) -> str | None:
    """Return the description that a picture was given, None where it has none."""
    for kind, body in _chunks(png):
        if kind == b"iTXt" and body.startswith(b"Description\0"):
            return body.removeprefix(b"Description\0\0\0\0\0").decode()
    return None


def _chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    place = 8
    while place < len(png):
        (size,) = struct.unpack(">I", png[place : place + 4])
        yield png[place + 4 : place + 8], png[place + 8 : place + 8 + size]
        place += size + 12


def main() -> None:
    os.environ.setdefault("COLUMNS", "100")
    pages = [Path(page).resolve() for page in sys.argv[1:]] or [README, *PAGES]
    for page in pages:
        with tempfile.TemporaryDirectory() as folder, chdir(folder):
            text = readme() if page == README else rewritten(page)
            page.write_text(text, encoding="utf-8")
            print(page.relative_to(ROOT))
            if page == README and shutil.which("chromium"):
                PICTURE.write_bytes(picture(demo_page()))
                print(PICTURE.relative_to(ROOT))


if __name__ == "__main__":
    main()
