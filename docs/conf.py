"""Sphinx's configuration for the site of these pages, which scripts/docs_site.py builds."""

project = "Kintsugi"
extensions = ["myst_parser"]
# Anchors are those that GitHub makes of headings.
myst_heading_anchors = 6
html_theme = "furo"
html_title = "Kintsugi"
html_copy_source = False
html_use_index = False
html_show_sphinx = False
html_show_copyright = False
