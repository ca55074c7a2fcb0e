"""HTML elements and attributes by their role for text."""

__all__ = ["BUTTONS", "IMPLIED_ENDS", "INLINE", "META", "OPAQUE", "READ", "VOID"]

VOID = frozenset(
    [
        "area",
        "base",
        "br",
        "col",
        "embed",
        "hr",
        "img",
        "input",
        "link",
        "meta",
        "param",
        "source",
        "track",
        "wbr",
    ]
)
INLINE = frozenset(
    [
        "a",
        "abbr",
        "acronym",
        "b",
        "bdi",
        "bdo",
        "big",
        "br",
        "cite",
        "code",
        "data",
        "del",
        "dfn",
        "em",
        "font",
        "i",
        "img",
        "input",
        "ins",
        "kbd",
        "mark",
        "math",
        "nobr",
        "q",
        "rb",
        "rp",
        "rt",
        "ruby",
        "s",
        "samp",
        "small",
        "span",
        "strike",
        "strong",
        "sub",
        "sup",
        "svg",
        "time",
        "tt",
        "u",
        "var",
        "wbr",
    ]
)
OPAQUE = frozenset(
    [
        "audio",
        "canvas",
        "code",
        "iframe",
        "kbd",
        "math",
        "object",
        "pre",
        "samp",
        "script",
        "style",
        "svg",
        "textarea",
        "tt",
        "var",
        "video",
    ]
)
# A start tag on the right ends an open element on the left.
IMPLIED_ENDS = {
    "li": {"li"},
    "dt": {"dt", "dd"},
    "dd": {"dt", "dd"},
    "option": {"option", "optgroup"},
    "tr": {"tr", "tbody", "tfoot"},
    "td": {"td", "th", "tr", "tbody", "tfoot"},
    "th": {"td", "th", "tr", "tbody", "tfoot"},
}
READ = {"alt", "title", "placeholder", "aria-label", "label", "summary"}
META = {
    "description",
    "keywords",
    "og:title",
    "og:description",
    "og:image:alt",
    "twitter:title",
    "twitter:description",
}
BUTTONS = {"submit", "button", "reset"}
