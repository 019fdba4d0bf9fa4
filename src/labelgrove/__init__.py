"""labelgrove: multi-label and extreme multi-label text classification."""

from labelgrove._version import __version__ as __version__
