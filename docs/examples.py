"""Write the outputs of commands into the README and the pages, and the picture of the report.

    python docs/examples.py [PAGE...]

Without a page it writes all pages. README.md includes the picture, which needs Chromium. tests/test_docs.py fails when
a file differs from the result.
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
from collections.abc import Iterator, Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from shutil import copyfile
from unittest.mock import patch

from decloak.cli import _code
from decloak.report import progress

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PICTURE = ROOT / "docs" / "pictures" / "report.png"
FILM = ROOT / "docs" / "pictures" / "demo.svg"
PAGES = sorted(
    page
    for folder in ("how-to", "tutorial")
    for page in (ROOT / "docs" / folder).glob("*.md")
    if "\n$ decloak " in page.read_text(encoding="utf-8")
)
BLOCK = re.compile(r"(?:<!-- file: (?P<file>\S+) -->\n)?```(?P<kind>\w+)\n(?P<text>.*?)```", re.DOTALL)
DEMO = "decloak run demo.yaml"
WIDTH = 1280


def lines_of(command: str) -> list[str]:
    """Run a command of decloak in the current folder; return what it prints, notes last."""
    program, *words = shlex.split(command)
    assert program == "decloak"
    out, err = io.StringIO(), io.StringIO()
    # A slow machine says how far a run is, and the first run after a change says that it compiles loops.
    with redirect_stdout(out), redirect_stderr(err), patch.object(progress, "ProgressLines", progress.Progress):
        _code(words)
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
    """Return the README with the result of the demo and the answer to a mistake as they are now."""
    lines_of("decloak init demo.yaml --like demo")
    text = README.read_text(encoding="utf-8")
    result, _, _ = "\n".join(lines_of(DEMO)).partition("\n\n")
    shown = iter([[f"$ {DEMO}", result], _mistake(text)])
    return BLOCK.sub(
        lambda block: _with_text(block, "\n".join([*next(shown), ""])) if block["kind"] == "text" else block[0], text
    )


def _mistake(text: str) -> list[str]:
    """Return the error of the demo's scenario with the misspelt name that the README shows."""
    *_, shown = (block["text"] for block in BLOCK.finditer(text) if block["kind"] == "text")
    wrong, right = re.findall(r"'(\w+)'", shown)
    scenario = Path("demo.yaml").read_text(encoding="utf-8")
    Path("mine.yaml").write_text(scenario.replace(right, wrong), encoding="utf-8")
    return lines_of("decloak run mine.yaml")


def demo_page() -> Path:
    """Make the page that `make demo` ends with."""
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        _code(["run", str(ROOT / "scenarios" / "gallery" / "clinic-methods.yaml"), "--store", "demo.db"])
        _code(["report", "last", "--store", "demo.db", "-o", "demo.html"])
    return Path("demo.html")


def pictured(page: Path) -> str:
    """Return the text of a page that the picture shows: its result, the people exposed, the findings and the plots."""
    text = page.read_text(encoding="utf-8")
    shown = text[text.index("<header") : text.index('<section id="attacks"')]
    return " ".join(html.unescape(re.sub(r"(?s)<svg.*?</svg>|<[^>]+>", " ", shown)).split())


def picture(page: Path) -> bytes:
    """Return a picture of the beginning of a page as PNG, with the text that it shows as its description."""
    sys.path.insert(0, str(ROOT / "tests" / "support"))
    from base64 import b64decode

    from browser import browser

    with tempfile.TemporaryDirectory() as folder, browser(Path(folder)) as tab:
        tab.open(page, WIDTH)
        end = tab.ask("document.getElementById('attacks').getBoundingClientRect().top")
        clip = {"x": 0, "y": 0, "width": WIDTH, "height": math.ceil(end), "scale": 1}
        shot = tab.call("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)
    return _described(b64decode(shot["data"]), pictured(page))


def film(lines: Sequence[str]) -> str:
    """Return the lines of a terminal as an SVG that shows them one after the other, in a loop."""
    rows = "".join(
        f'<text x="16" y="{28 + 18 * row}" style="animation-delay:{row * 0.25:.2f}s">{html.escape(line)}</text>\n'
        for row, line in enumerate(lines)
    )
    seconds = len(lines) * 0.25 + 8
    style = (
        "text{font:13px monospace;fill:#e9ecef;white-space:pre;opacity:0;"
        f"animation:line {seconds:.2f}s infinite}}@keyframes line{{0%{{opacity:0}}1%,90%{{opacity:1}}}}"
        "@media (prefers-reduced-motion:reduce){text{opacity:1;animation:none}}"
    )
    size = f'viewBox="0 0 920 {36 + 18 * len(lines)}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{html.escape(lines[1])}">\n'
        f'<style>{style}</style><rect width="100%" height="100%" rx="6" fill="#14181c"/>\n{rows}</svg>\n'
    )


def demo_film() -> str:
    """Film the demo: its result, and the comparison of methods that follows."""
    lines_of("decloak init demo.yaml --like demo")
    lines_of("decloak init methods.yaml --like clinic-methods")
    result, _, _ = "\n".join(lines_of(DEMO)).partition("\n\n")
    compared = "\n".join(lines_of("decloak run methods.yaml --store methods.db")).split("\n\n")[1]
    shown = [f"$ {DEMO}", *result.splitlines(), "", "$ decloak run methods.yaml", *compared.splitlines()]
    return film([line[:115] for line in shown])


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
            if page == README:
                FILM.write_text(demo_film(), encoding="utf-8")
                print(FILM.relative_to(ROOT))
            if page == README and shutil.which("chromium"):
                PICTURE.write_bytes(picture(demo_page()))
                print(PICTURE.relative_to(ROOT))


if __name__ == "__main__":
    main()
