"""Index the reference corpus: paragraphs of Wikipedia, medical texts and the glosses of WordNet.

    python benchmarks/build_reference_corpus.py FOLDER OUT

FOLDER holds corpus_wiki_lite.tsv.xz, corpus_medical.tsv.xz (both source<TAB>text) and wordnet30.tar.xz. What is made of
MTSamples is left out: it is data that is attacked. The same by hand, with the glosses as a third such table:

    decloak corpus build WIKI MEDICAL GLOSSES --field 2 --without 1=mtsamples --without 1=mtsdialog --out OUT
"""

import sys
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from decloak.data.text.documents import Documents, TextOptions
from decloak.relate.corpus_index import IndexFacts, build

READING = TextOptions("2", without=(("1", "mtsamples"), ("1", "mtsdialog")))


def synsets(archive: Path) -> Iterator[str]:
    """The words of each synset and its gloss, as one document."""
    with tarfile.open(archive) as files:
        for part in ("noun", "verb", "adj", "adv"):
            file = files.extractfile(f"wordnet30/data.{part}")
            assert file is not None
            for line in file.read().decode().splitlines():
                if line.startswith(" "):  # the licence
                    continue
                data, gloss = line.split(" | ", 1)
                _offset, _lexicographer, _kind, count, *rest = data.split()
                words = rest[: 2 * int(count, 16) : 2]
                yield f"{', '.join(words)}: {gloss}".replace("_", " ")


def build_reference(folder: Path, out: Path) -> IndexFacts:
    """Index the corpus of a folder."""
    with TemporaryDirectory() as scratch:
        glosses = Path(scratch) / "glosses.tsv"
        texts = synsets(folder / "wordnet30.tar.xz")
        glosses.write_text("".join(f"wordnet\t{text}\n" for text in texts), encoding="utf-8")
        files = folder / "corpus_wiki_lite.tsv.xz", folder / "corpus_medical.tsv.xz", glosses
        return build([Documents(file, READING) for file in files], out)


def main() -> None:
    folder, out = map(Path, sys.argv[1:])
    begun = time.process_time()
    facts = build_reference(folder, out)
    spent, size = time.process_time() - begun, out.stat().st_size / 1e6
    print(f"{facts.n:,} documents, {size:.1f} MB, {spent:.1f} s CPU")


if __name__ == "__main__":
    main()
