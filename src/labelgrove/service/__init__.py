"""Taggers behind HTTP: a REST service with a web page. ``labelgrove serve`` starts it."""

from labelgrove.service.app import create_app
from labelgrove.service.library import Library
from labelgrove.service.server import serve
from labelgrove.service.settings import Limits, Settings

__all__ = ["Library", "Limits", "Settings", "create_app", "serve"]
