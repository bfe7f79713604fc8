"""How the documentation site is built: ``make docs``. Warnings are errors, and every example is run by the tests."""

from __future__ import annotations

import sordino

project = "Sordino"
author = "The Sordino authors"
release = version = sordino.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["build"]

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
suppress_warnings = ["misc.highlighting_failure"]  # proofs hold plain-text maths

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # signatures in full are for a checker; the docstrings say what is meant
autodoc_default_options = {
    "members": True,
    "inherited-members": False,
    "undoc-members": False,
    "exclude-members": "set_fit_request,set_score_request",  # scikit-learn's, with its own references
}

html_theme = "furo"
html_title = "Sordino"
html_static_path = ["static"]
html_css_files = ["narrow.css"]
html_show_copyright = False
html_show_sphinx = False
