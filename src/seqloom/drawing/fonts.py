"""Which installed fonts can show a text, so that pictures have letters and not boxes."""

from collections.abc import Collection, Sequence

__all__ = ["families_for", "legible_labels", "replace_missing"]

FIRST = "DejaVu Sans"


def legible_labels(labels: Sequence[str], kind: str) -> tuple[list[str], list[str]]:
    """The labels as a picture of that kind can show them, and the font families to try in turn.

    Characters that no installed font has are written as U+XXXX in a PNG; an SVG keeps its text.
    """
    families, missing = families_for(set("".join(labels)))
    if kind == "png":
        return [replace_missing(label, missing) for label in labels], families
    return list(labels), families


def families_for(characters: Collection[str]) -> tuple[list[str], set[str]]:
    """Font families to try in turn, and the characters that none of the installed ones has.

    matplotlib's own font comes first; others join only where they add a character. Its list of
    fonts may be an old one: where something is missing, those installed since are looked for.
    """
    families, missing = _families(characters)
    if missing and _register_new_fonts():
        families, missing = _families(characters)
    return families, missing


def _families(characters: Collection[str]) -> tuple[list[str], set[str]]:
    """The same among the fonts that matplotlib knows."""
    from matplotlib.font_manager import fontManager

    fonts = sorted(
        (
            font
            for font in fontManager.ttflist
            if font.style == "normal" and "Resort" not in font.name
        ),
        key=lambda font: (font.name != FIRST, "Sans" not in font.name, font.name),
    )
    families: list[str] = []
    missing = {character for character in characters if not character.isspace()}
    for font in fonts:
        if families and not missing:
            break
        if font.name in families:
            continue
        shown = missing & _font_characters(font.fname)
        if shown or font.name == FIRST:
            families.append(font.name)
            missing -= shown
    return families, missing


def _register_new_fonts() -> bool:
    """Whether fonts are installed that matplotlib did not know until now."""
    from matplotlib.font_manager import findSystemFonts, fontManager

    known = {font.fname for font in fontManager.ttflist}
    found = False
    for path in findSystemFonts():
        if path not in known:
            try:
                fontManager.addfont(path)
            except (OSError, RuntimeError, ValueError):
                continue
            found = True
    return found


def replace_missing(label: str, missing: Collection[str]) -> str:
    """The label with its unshowable characters as U+XXXX."""
    return "".join(f"U+{ord(c):04X}" if c in missing else c for c in label)


def _font_characters(path: str) -> set[str]:
    """The characters of a font file; none where it cannot be read."""
    from matplotlib.font_manager import get_font

    try:
        return set(map(chr, get_font(path).get_charmap()))
    except (OSError, RuntimeError):
        return set()
