"""Installed fonts that cover the characters of labels."""

from collections.abc import Collection, Sequence

__all__ = ["families_for", "legible_labels", "replace_missing"]

FIRST = "DejaVu Sans"


def legible_labels(labels: Sequence[str], kind: str) -> tuple[list[str], list[str]]:
    """The labels as a picture of that kind can show them, and the font families to try in order.

    Characters without an installed font become U+XXXX in a PNG; an SVG keeps its text.
    """
    families, missing = families_for(set("".join(labels)))
    if kind == "png":
        return [replace_missing(label, missing) for label in labels], families
    return list(labels), families


def families_for(characters: Collection[str]) -> tuple[list[str], set[str]]:
    """Font families to try in order, and the characters that no installed font has.

    matplotlib's default font comes first; others are added only if they cover a missing character.
    Its list of fonts may be outdated: if a character is missing, newly installed fonts are
    searched.
    """
    families, missing = _families(characters)
    if missing and _register_new_fonts():
        families, missing = _families(characters)
    return families, missing


def _families(characters: Collection[str]) -> tuple[list[str], set[str]]:
    """The families and missing characters, by the fonts that matplotlib has registered."""
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
    """Register fonts installed since matplotlib listed them; return whether there are any."""
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
    """Replace unavailable characters in a label by U+XXXX."""
    return "".join(f"U+{ord(c):04X}" if c in missing else c for c in label)


def _font_characters(path: str) -> set[str]:
    """The characters of a font file; empty if it is unreadable."""
    from matplotlib.font_manager import get_font

    try:
        return set(map(chr, get_font(path).get_charmap()))
    except (OSError, RuntimeError):
        return set()
