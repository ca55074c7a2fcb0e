"""The documentation site: `make docs` builds these pages and the API reference with Sphinx."""

from typing import Any

from docutils.nodes import Element, SkipNode
from latex2mathml.converter import convert
from sphinx.application import Sphinx

from seqloom.version import __version__

project = "Seqloom"
author = "the Seqloom developers"
copyright = "the Seqloom developers"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["images", "_static"]

myst_heading_anchors = 4
myst_enable_extensions = ["attrs_inline", "dollarmath"]

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_default_options = {
    "members": True,
    "show-inheritance": False,
    # scikit-learn adds these to its estimators, with links into its own documentation.
    "exclude-members": "set_fit_request, set_predict_request, set_predict_proba_request, "
    "set_score_request",
}

default_role = "code"

html_theme = "furo"
html_math_renderer = "mathml"
html_title = f"Seqloom {__version__}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["enlarge.js"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}


def write_inline_math(page: Any, node: Element) -> None:
    """Write a formula as MathML, which browsers draw without a script from another site."""
    page.body.append(convert(node.astext()))
    raise SkipNode


def write_block_math(page: Any, node: Element) -> None:
    """Write a formula on a line of its own."""
    page.body.append(convert(node.astext(), display="block"))
    raise SkipNode


def setup(app: Sphinx) -> None:
    """Register the renderer of formulas."""
    app.add_html_math_renderer("mathml", (write_inline_math, None), (write_block_math, None))
