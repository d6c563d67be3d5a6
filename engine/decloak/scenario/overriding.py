"""What `--set key=value` puts on top of a scenario file, before anything in it is checked."""

from collections.abc import Iterable, Mapping, Sequence

from decloak.errors import DecloakError, shown
from decloak.yaml.source import Source
from decloak.yaml.tree import Place, compose

__all__ = ["DEEPEST", "check_effect", "overridden"]

DEEPEST = 10
"""Keys that a dotted key may join."""

Keys = tuple[str, ...]


def overridden(source: Source, overrides: Sequence[str]) -> tuple[Source, dict[Keys, Place]]:
    """A document with "key=value" texts put on top of it, and where each of them went."""
    places = {}
    for text in overrides:
        keys, place = _keys_of(text)
        places[keys] = place
        source = source.put(keys, compose(text.partition("=")[2], place.name, marks=False), place)
    return source, places


def _keys_of(text: str) -> tuple[Keys, Place]:
    """Where an override goes; the keys under `vary` hold dots themselves."""
    place = Place(shown(f"--set {text}", 300)[1:-1])
    dotted, _, value = text.partition("=")
    keys = tuple(dotted.strip().split("."))
    if not value.strip() or not all(keys):
        raise DecloakError("expected key=value", place.name, "write such as anonymise.size=4")
    if len(keys) > DEEPEST:
        raise DecloakError(f"no key is {len(keys)} levels deep", place.name, f"join at most {DEEPEST} by dots")
    return (("vary", ".".join(keys[1:])) if keys[0] == "vary" and len(keys) > 1 else keys), place


def check_effect(places: Mapping[Keys, Place], vary: Iterable[str]) -> None:
    """Refuse an override of what varies."""
    for keys, place in places.items():
        for name in vary:
            varied = tuple(name.split("."))
            shorter = min(len(varied), len(keys))
            if varied[:shorter] == keys[:shorter]:
                raise DecloakError(f"{shown(name)} varies, so this has no effect", place.name, f"set vary.{name}=[...]")
