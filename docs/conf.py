"""The documentation site: `make docs` builds these pages and the API reference with Sphinx."""

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
autodoc_default_options = {"members": True, "show-inheritance": False}

default_role = "code"

html_theme = "furo"
html_title = f"Seqloom {__version__}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["enlarge.js"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}
