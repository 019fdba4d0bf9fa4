"""Taggers behind HTTP: a REST service with a web page. ``labelgrove serve`` starts it."""

from labelgrove.service.app import create_app
from labelgrove.service.server import serve
from labelgrove.service.settings import Limits, Settings
from labelgrove.service.taggers import ServedTaggers

__all__ = ["Limits", "ServedTaggers", "Settings", "create_app", "serve"]
