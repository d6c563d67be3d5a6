"""How the documentation becomes a site, by `make site`: nothing is fetched, when it is built or when it is read."""

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

from decloak.version import __version__

project = "decloak"
release = version = __version__
copyright = "the authors of decloak"  # noqa: A001  Sphinx names it so
extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["_site"]
myst_heading_anchors = 3
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["gallery.css"]
html_title = "decloak"
html_show_sourcelink = False
html_copy_source = False
autodoc_member_order = "bysource"
autodoc_typehints = "signature"


def setup(app: Sphinx) -> None:
    """Show data files as the text they are."""
    app.add_lexer("csv", TextLexer)
