"""How Sphinx builds the documentation; the Makefile's target ``docs`` calls it.

The source folder is the repository itself, so that a link between two files is the same on the
site and wherever else the repository is read. What becomes a page is in ``include_patterns``.
"""

import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "extensions"), str(HERE.parent / "src")]

from labelgrove import __version__  # noqa: E402

project = "labelgrove"
copyright = "the labelgrove authors, Apache-2.0"  # noqa: A001
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "formulas",
    "settings",
    "commands",
]
root_doc = "docs/index"
include_patterns = ["docs/**.md", "benchmarks/**.md", "*.md"]
exclude_patterns = [".*", "build", "dist", "src", "tests", "README.md"]

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
html_math_renderer = "mathml"

default_role = "py:obj"
add_module_names = False
autodoc_typehints_format = "short"
autodoc_type_aliases = {name: name for name in ("ArrayLike", "Features")}
autodoc_member_order = "bysource"
python_maximum_signature_line_length = 80
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
napoleon_attr_annotations = False  # types are in the signature

html_theme = "furo"
html_title = f"labelgrove {version}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_extra_path = ["static/index.html"]  # the way from the site's root to docs/index
html_copy_source = False
html_show_sphinx = False
pygments_style = "friendly"
pygments_dark_style = "monokai"


def _short_arrays(app, what, name, found, options, signature, returns):
    """Write NDArray[float64] for what it stands for."""
    full = r"~numpy.ndarray[tuple[~typing.Any, ...], ~numpy.dtype[TYPE]]"
    arrays = re.escape(full).replace("TYPE", r"(~[\w.]+)")
    return tuple(each and re.sub(arrays, r"NDArray[\1]", each) for each in (signature, returns))


def _skip_fields(app, what, name, found, skip, options):
    """Leave out fields of named tuples: the class tells what they are."""
    return True if (found.__doc__ or "").startswith("Alias for field number") else None


def setup(app):
    """Make the reference read as the docstrings do."""
    app.connect("autodoc-process-signature", _short_arrays)
    app.connect("autodoc-skip-member", _skip_fields)
