"""Settings of Sphinx for the site; `build.py` collects its pages."""

project = "Tailback"
author = "The Tailback developers"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "website.navigation"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns: list[str] = []

html_theme = "furo"
html_title = "Tailback"
html_show_copyright = False
html_show_sphinx = False
# The source of a page is in the repository.
html_copy_source = False
# A page that was opened from a disk cannot read the texts of others.
html_show_search_summary = False
html_static_path = ["_static"]
html_favicon = "_static/icon.svg"
html_css_files = ["site.css"]
html_js_files = ["site.js"]

myst_heading_anchors = 4
myst_enable_extensions = ["html_image"]
myst_links_external_new_tab = False
suppress_warnings = [
    # Pages are written for a reader of the files: headings begin at any level, and blocks name languages for a reader.
    "myst.header",
    "misc.highlighting_failure",
]
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_class_signature = "separated"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
python_maximum_signature_line_length = 100
