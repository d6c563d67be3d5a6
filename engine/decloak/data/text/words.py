"""Tables of English words: those that say nothing alone, and those whose singular no rule finds."""

__all__ = ["IRREGULAR", "STOP_WORDS", "UNCHANGED"]

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
"""Words that are no part of an item."""

IRREGULAR = {
    # changed stems
    "men": "man", "women": "woman", "children": "child", "grandchildren": "grandchild", "feet": "foot",
    "teeth": "tooth", "geese": "goose", "mice": "mouse", "lice": "louse", "oxen": "ox", "people": "person",
    "firemen": "fireman", "gentlemen": "gentleman", "policemen": "policeman", "policewomen": "policewoman",
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
    # -s and -z, where the rule would keep an e
    "biases": "bias", "boluses": "bolus", "bonuses": "bonus", "buses": "bus", "calluses": "callus",
    "campuses": "campus", "canvases": "canvas", "censuses": "census", "choruses": "chorus", "circuses": "circus",
    "fetuses": "fetus", "foetuses": "foetus", "gases": "gas", "geniuses": "genius", "hiatuses": "hiatus",
    "irises": "iris", "lenses": "lens", "pancreases": "pancreas", "pelvises": "pelvis", "penises": "penis",
    "quizzes": "quiz", "sinuses": "sinus", "statuses": "status", "uteruses": "uterus", "viruses": "virus",
    # -is and -x, where the rule would keep an e or drop an s
    "axes": "axis", "crises": "crisis", "emphases": "emphasis", "hypotheses": "hypothesis", "nares": "naris",
    "oases": "oasis", "testes": "testis", "theses": "thesis", "apices": "apex", "appendices": "appendix",
    "cervices": "cervix", "codices": "codex", "cortices": "cortex", "indices": "index", "matrices": "matrix",
    "varices": "varix", "vertices": "vertex", "vortices": "vortex",
    # -ic: most other words in -ics are one field of knowledge
    "alcoholics": "alcoholic", "analgesics": "analgesic", "anesthetics": "anesthetic", "antibiotics": "antibiotic",
    "asthmatics": "asthmatic", "catholics": "catholic", "characteristics": "characteristic", "clinics": "clinic",
    "comics": "comic", "cosmetics": "cosmetic", "critics": "critic", "diabetics": "diabetic", "diuretics": "diuretic",
    "fabrics": "fabric", "narcotics": "narcotic", "paramedics": "paramedic", "plastics": "plastic",
    "republics": "republic", "statistics": "statistic", "topics": "topic",
    # Latin and Greek
    "alumni": "alumnus", "bacteria": "bacterium", "bronchi": "bronchus", "criteria": "criterion",
    "diverticula": "diverticulum", "emboli": "embolus", "fungi": "fungus", "ganglia": "ganglion", "nuclei": "nucleus",
    "ova": "ovum", "phenomena": "phenomenon", "stimuli": "stimulus", "thrombi": "thrombus", "vertebrae": "vertebra",
}  # fmt: skip
"""Plurals that no rule undoes, with their singulars."""

_UNCHANGED = (
    # diseases and parts of the body
    """
    aids alzheimers ards ascites caries diabetes erysipelas herpes hives measles mumps rabies rickets scabies shingles
    biceps triceps quadriceps achilles facies feces faeces genitals glans meninges pancreas pons vas
    """
    # one thing that is called many, or the same in both numbers
    """
    alms arrears binoculars clothes earnings forceps gallows glasses goggles headquarters jeans leggings means news
    pajamas pants pliers premises pyjamas remains scissors series shorts species thanks tights trousers tweezers
    """
    # other words that end so
    """
    alias always asbestos atlas bias canvas chaos christmas cosmos ethos fracas kudos lens mens overseas pathos pros
    rhinoceros sometimes thermos towards whereas
    """
    # names
    """
    adams afrikaans andes arkansas athens bahamas barbados beatles brussels caracas carlos charles collins dallas
    dickens douglas evans flanders ganges hastings hercules honduras hughes james jones judas kansas laos lucas
    mercedes moses nicholas rogers simpsons states texas thomas vegas wales watts williams
    """
)
UNCHANGED = frozenset(_UNCHANGED.split())
"""Words that look like plurals and stay as they are."""
