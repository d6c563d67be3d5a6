"""Items of texts: sentences of words, their parts of speech, and their nouns and noun phrases.

HanTa (extra `text`) tags English words. It comes with its model and uses no network. Its tags are the tags of the
British National Corpus.
"""

import importlib
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

from decloak.errors import DecloakError
from decloak.extras import install

_STOP_WORDS = (
    # articles, pronouns, and what points
    """
    a an the i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her
    hers herself it its itself they them their theirs themselves one ones this that these those such same other others
    another each every either neither both all any some none no many much more most few fewer several less least own
    someone somebody something anyone anybody anything everyone everybody everything nobody nothing who whom whose
    which what where when why how here there
    """
    # verbs that help others
    """
    am is are was were be been being have has had having do does did doing done will would shall should can could may
    might must ought let get gets got getting n't
    """
    # prepositions, conjunctions, and adverbs that only join
    """
    about above across after again against along among around as at away back because before behind below beneath
    beside besides between beyond but by despite down during else etc even ever except for from further hence how
    however if in inside into just like near never nor not now of off often on once only onto or out outside over per
    perhaps quite rather really so soon still than then therefore though through throughout thus till to together too
    toward towards under until up upon very via versus vs well whether while with within without yes yet also and
    """
)
STOP_WORDS = frozenset(_STOP_WORDS.split())
"""Words that are not part of an item."""

IRREGULAR = {
    # changed stems
    "men": "man", "women": "woman", "children": "child", "grandchildren": "grandchild", "feet": "foot",
    "teeth": "tooth", "geese": "goose", "mice": "mouse", "lice": "louse", "oxen": "ox", "people": "person",
    "chairmen": "chairman", "firemen": "fireman", "fishermen": "fisherman", "gentlemen": "gentleman",
    "policemen": "policeman", "policewomen": "policewoman",
    # -f and -fe
    "calves": "calf", "dwarves": "dwarf", "elves": "elf", "halves": "half", "hooves": "hoof", "lives": "life",
    "loaves": "loaf", "scarves": "scarf", "selves": "self", "sheaves": "sheaf", "thieves": "thief",
    # -ie, where the rule would give -y
    "brownies": "brownie", "calories": "calorie", "cookies": "cookie", "eyries": "eyrie", "genies": "genie",
    "hippies": "hippie", "movies": "movie", "prairies": "prairie", "rookies": "rookie", "selfies": "selfie",
    "smoothies": "smoothie", "zombies": "zombie", "dies": "die", "lies": "lie", "pies": "pie", "ties": "tie",
    # -oe and -che, where the rule would drop the e
    "aloes": "aloe", "canoes": "canoe", "foes": "foe", "hoes": "hoe", "oboes": "oboe", "shoes": "shoe", "toes": "toe",
    "tiptoes": "tiptoe", "woes": "woe", "aches": "ache", "backaches": "backache", "earaches": "earache",
    "headaches": "headache", "heartaches": "heartache", "stomachaches": "stomachache", "toothaches": "toothache",
    "avalanches": "avalanche", "caches": "cache", "cliches": "cliche", "moustaches": "moustache",
    "mustaches": "mustache", "niches": "niche", "psyches": "psyche", "quiches": "quiche",
    # -ose, where the rule would give -osis, and the like
    "dioceses": "diocese", "doses": "dose", "glucoses": "glucose", "hoses": "hose", "loses": "lose", "noses": "nose",
    "overdoses": "overdose", "roses": "rose",
    # -s and -z, where the rule would keep an e
    "aliases": "alias", "biases": "bias", "boluses": "bolus", "bonuses": "bonus", "buses": "bus", "calluses": "callus",
    "campuses": "campus", "canvases": "canvas", "censuses": "census", "choruses": "chorus", "circuses": "circus",
    "fetuses": "fetus", "focuses": "focus", "foetuses": "foetus", "gases": "gas", "geniuses": "genius",
    "hiatuses": "hiatus", "irises": "iris", "lenses": "lens", "pancreases": "pancreas", "pelvises": "pelvis",
    "penises": "penis", "quizzes": "quiz", "sinuses": "sinus", "statuses": "status", "surpluses": "surplus",
    "uteruses": "uterus",
    # -is and -x, where the rule would keep an e or drop an s
    "axes": "axis", "crises": "crisis", "emphases": "emphasis", "nares": "naris", "oases": "oasis",
    "testes": "testis", "apices": "apex", "appendices": "appendix", "calices": "calyx", "calyces": "calyx",
    "cervices": "cervix", "codices": "codex", "cortices": "cortex", "helices": "helix", "indices": "index",
    "matrices": "matrix", "phalanges": "phalanx", "varices": "varix", "vertices": "vertex", "vortices": "vortex",
    # -ic: most other words in -ics are one field of knowledge
    "alcoholics": "alcoholic", "analgesics": "analgesic", "anesthetics": "anesthetic", "antibiotics": "antibiotic",
    "asthmatics": "asthmatic", "catholics": "catholic", "characteristics": "characteristic", "clinics": "clinic",
    "comics": "comic", "cosmetics": "cosmetic", "critics": "critic", "diabetics": "diabetic", "diuretics": "diuretic",
    "fabrics": "fabric", "narcotics": "narcotic", "paramedics": "paramedic", "plastics": "plastic",
    "republics": "republic", "statistics": "statistic", "topics": "topic",
    # Latin and Greek
    "algae": "alga", "alumni": "alumnus", "alveoli": "alveolus", "antennae": "antenna", "atria": "atrium",
    "bacteria": "bacterium", "bronchi": "bronchus", "bullae": "bulla", "calculi": "calculus", "cilia": "cilium",
    "conjunctivae": "conjunctiva", "criteria": "criterion", "diverticula": "diverticulum", "emboli": "embolus",
    "fistulae": "fistula", "foci": "focus", "fossae": "fossa", "fungi": "fungus", "ganglia": "ganglion",
    "glomeruli": "glomerulus", "larvae": "larva", "loci": "locus", "mitochondria": "mitochondrion", "nevi": "nevus",
    "nuclei": "nucleus", "ova": "ovum", "papillae": "papilla", "patellae": "patella", "petechiae": "petechia",
    "phenomena": "phenomenon", "scapulae": "scapula", "sclerae": "sclera", "septa": "septum", "sequelae": "sequela",
    "stimuli": "stimulus", "striae": "stria", "thrombi": "thrombus", "trabeculae": "trabecula",
    "vertebrae": "vertebra",
}  # fmt: skip
"""Irregular plurals and their singulars."""

_UNCHANGED = (
    # diseases and parts of the body
    """
    aids alzheimers ards ascites caries diabetes epispadias erysipelas exophthalmos herpes hives hydrops hypospadias
    measles mumps oligohydramnios polyhydramnios prediabetes pseudomonas rabies rickets scabies shingles talipes
    biceps triceps quadriceps achilles azygos facies feces faeces genitals glans iliopsoas meninges menses pancreas
    pons psoas stapes vas
    """
    # one thing that is called many, or the same in both numbers
    """
    alms annals arrears binoculars clothes crossroads earnings fireworks forceps gallows glasses goggles headquarters
    jeans leggings means news outskirts pajamas pants pliers premises pyjamas remains scissors series shorts species
    subspecies sunglasses thanks tights trousers tweezers whereabouts
    """
    # other words that end so
    """
    alias always asbestos atlas bias canvas chaos christmas cosmos downstairs ethos fracas kudos lens mens nowadays
    overseas pathos pros rhinoceros sometimes thermos towards upstairs whereas
    """
    # names
    """
    adams afrikaans andes angeles arkansas athens bahamas barbados beatles brussels caracas carlos charles collins
    dallas dickens douglas evans flanders ganges hastings hercules honduras hopkins hughes james jones judas kansas
    laos leeds lucas massachusetts mercedes moses naples netherlands nicholas orleans rogers simpsons states texas
    thomas vegas wales watts williams
    """
)
UNCHANGED = frozenset(_UNCHANGED.split())
"""Words that look like plurals and are not changed."""


SHORTEST = 4
"""Least number of letters of a word that a rule changes: short words such as gas, bus and yes are excluded."""

STAYING = ("ss", "us", "is", "ics")
CHANGING = (
    ("knives", "knife"), ("leaves", "leaf"), ("shelves", "shelf"), ("wives", "wife"), ("wolves", "wolf"),
    ("poses", "pose"), ("closes", "close"), ("ooses", "oose"), ("oses", "osis"), ("eeses", "eese"), ("eses", "esis"),
    ("stases", "stasis"), ("ectases", "ectasis"), ("iases", "iasis"), ("yses", "ysis"), ("viruses", "virus"),
    ("plexuses", "plexus"), ("thoraces", "thorax"), ("cocci", "coccus"), ("bacilli", "bacillus"),
    ("villi", "villus"), ("smen", "sman"),
    ("ies", "y"), ("oes", "o"), ("ches", "ch"), ("shes", "sh"), ("sses", "ss"), ("tzes", "tz"), ("xes", "x"),
    ("zzes", "zz"), ("s", ""),
)  # fmt: skip
"""Endings and their replacements. The first that matches is used."""


def singular(word: str) -> str:
    """Return the singular of `word`, a noun in lower case; the word itself if it is or may be a singular.

    >>> [singular(word) for word in ("biopsies", "masses", "diseases", "women", "diabetes", "pancreas")]
    ['biopsy', 'mass', 'disease', 'woman', 'diabetes', 'pancreas']
    """
    before, hyphen, last = word.rpartition("-")
    if hyphen:
        return before + hyphen + singular(last)
    if word in UNCHANGED or word in IRREGULAR:
        return IRREGULAR.get(word, word)
    if len(word) < SHORTEST or word.endswith(STAYING) or not word.isalpha():
        return word
    plural, ending = next((change for change in CHANGING if word.endswith(change[0])), ("", ""))
    return word.removesuffix(plural) + ending


WordKind = Literal["noun", "adjective", "other"]


class Tagged(NamedTuple):
    """A word of a sentence and its part of speech."""

    word: str
    kind: WordKind


def phrases(sentence: Sequence[Tagged]) -> Iterator[str]:
    """Yield the nouns and noun phrases of `sentence`, in lower case and in the singular.

    >>> sentence = [("Some", "other"), ("burning", "adjective"), ("chest", "noun"), ("pains", "noun")]
    >>> list(phrases([Tagged(word, kind) for word, kind in sentence]))
    ['burning chest', 'pain']
    """
    words = [Tagged(word, kind if is_content(word) else "other") for word, kind in sentence]
    start = 0
    while start < len(words):
        kinds = [word.kind for word in words[start : start + 2]]
        size = 2 if kinds in (["noun", "noun"], ["adjective", "noun"]) else 1
        if size == 2 or kinds[0] == "noun":
            yield folded([word.word for word in words[start : start + size]])
        start += size


def is_content(word: str) -> bool:
    """Return True if `word` may be part of an item: not a stop word, a number or a single letter."""
    return len(word) > 1 and any(map(str.isalpha, word)) and word.lower() not in STOP_WORDS


def folded(words: Sequence[str]) -> str:
    """Return `words` as an item: in lower case, the last in the singular."""
    *before, last = [word.lower() for word in words]
    return " ".join([*before, singular(last)])


def outermost(items: Iterable[str]) -> tuple[str, ...]:
    """Return the `items` of a record without repetitions and without parts of longer ones.

    >>> outermost(["history", "symptom", "long history", "symptoms list"])
    ('long history', 'symptoms list')
    """
    first: dict[tuple[str, ...], str] = {}
    for item in items:
        first.setdefault(tuple(map(singular, item.split(" "))), item)
    longer_parts = {part for words in first for part in _parts(words)}
    return tuple(item for words, item in first.items() if words not in longer_parts)


def _parts(words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield every run of the words that is shorter than all of them."""
    for size in range(1, len(words)):
        for start in range(len(words) - size + 1):
            yield words[start : start + size]


NOUNS = frozenset({"NN0", "NN1", "NN2", "NP0"})
ADJECTIVES = frozenset({"AJ0", "AJC"})
UNKNOWN = "UNC"
"""The tag of words that are not English. In notes and queries they are names, misspelt nouns or abbreviations:
nouns.
"""

KEPT = 100_000
"""Number of words whose analysis is cached: an analysis takes far longer than tagging a known word."""

AT_ONCE = 500
"""Number of words that are tagged together: over many thousands HanTa's probabilities underflow."""


class Tagger(Protocol):
    """A function that returns the part of speech of each word of a sentence."""

    def __call__(self, sentence: Sequence[str], /) -> list[Tagged]:
        """Return the words of `sentence`, in order, each with its kind."""


@cache
def english() -> Tagger:
    """Return the tagger of English text; raise an error if its package is not installed."""
    try:
        module = importlib.import_module("HanTa.HanoverTagger")
    except ImportError:
        raise DecloakError("telling nouns in text needs the extra text", hint=install("text")) from None
    model = Path(str(module.__file__)).with_name("morphmodel_en.pgz")  # in full: a bare name is first sought here
    hanta = module.HanoverTagger(str(model))
    hanta.analyze_forward = lru_cache(KEPT)(hanta.analyze_forward)

    def tag(sentence: Sequence[str], /) -> list[Tagged]:
        short = [word if len(word) <= LONGEST_WORD else "-" for word in sentence]
        tags = [tag for n in range(0, len(short), AT_ONCE) for tag in hanta.tag_sent(short[n : n + AT_ONCE], 0)]
        return [Tagged(word, _kind(bounded, tag)) for word, bounded, tag in zip(sentence, short, tags, strict=True)]

    return tag


def _kind(word: str, tag: str) -> WordKind:
    if tag in NOUNS or (tag == UNKNOWN and any(map(str.isalpha, word))):
        return "noun"
    return "adjective" if tag in ADJECTIVES else "other"


LONGEST_WORD = 40
"""Largest number of characters of a word. A longer one has no kind, because tagging time grows with the square."""

_WORD = re.compile(
    r"""
      (?:[^\W\d_]\.){2,}                                              # b.i.d.
    | (?:mr|mrs|ms|dr|prof|st|jr|sr|vs|etc|approx)\.(?=\s)            # an abbreviation, not the end of a sentence
    | \w+?(?=n['’]t\b) | n['’]t\b                                     # did n't
    | \w+(?:[-.]\w+|['’](?!(?:s|t|d|m|re|ve|ll)\b)\w+)*               # x-ray, cancer.org, o'brien
    | ['’]\w+                                                         # the end of patient's
    | [^\w\s]
    """,
    re.VERBOSE | re.IGNORECASE,
)
_ENDS = frozenset(".?!")


def sentences(text: str) -> Iterator[list[str]]:
    """Yield the words and punctuation marks of each sentence of `text`.

    >>> list(sentences("Mr. Smith's X-rays\\nwere normal. No pain"))
    [['Mr.', 'Smith', "'s", 'X-rays', 'were', 'normal', '.'], ['No', 'pain']]
    """
    for block in _blocks(text):
        sentence: list[str] = []
        for match in _WORD.finditer(block):
            sentence.append(match[0])
            if match[0] in _ENDS:
                yield sentence
                sentence = []
        if sentence:
            yield sentence


def _blocks(text: str) -> Iterator[str]:
    """Yield the lines, joined where a line continues the one before."""
    parts: list[str] = []
    for line in text.splitlines():
        line = line.strip()
        broken = bool(parts) and parts[-1][-1] == "-" and parts[-1][-2:-1].isalpha()
        if parts and not line[:1].islower() and not (broken and line):
            yield "".join(parts)
            parts = []
        if line:
            parts += [line] if broken or not parts else [" ", line]
    yield "".join(parts)
