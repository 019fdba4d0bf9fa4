"""Uvicorn still has what the service builds on, and what moved is told plainly."""

import tomllib
from pathlib import Path

import pytest
import uvicorn

from labelgrove.core.errors import LabelgroveError
from labelgrove.service import uvicorn_internals as internals
from labelgrove.service.uvicorn_internals import SUPPORTED, Used, check_uvicorn, missing


def test_this_uvicorn_has_all_that_is_used():
    lost = missing()
    assert not lost, (
        f"uvicorn {uvicorn.__version__} moved or renamed {', '.join(lost)}, which the service "
        "uses: follow it there, then raise the bounds in pyproject.toml and in "
        "service/uvicorn_internals.py"
    )


def test_what_moved_is_named():
    used = (
        Used(uvicorn.Server, {"shut_down": (), "shutdown": ("sockets", "why")}, ("server_state",)),
        Used(uvicorn.Config, attributes=("number_of_workers",)),
    )
    expected = ["Server.shut_down", "Server.shutdown(why)", "Config.number_of_workers"]
    assert missing(used) == expected


def test_a_service_does_not_start_with_a_uvicorn_that_lacks_something(monkeypatch):
    monkeypatch.setattr(internals, "missing", lambda: ["Server.shutdown"])
    with pytest.raises(LabelgroveError, match=r"it lacks Server\.shutdown: install a version"):
        check_uvicorn()


def test_the_bounds_are_those_of_the_package():
    file = Path(__file__).parents[2] / "pyproject.toml"
    extra = tomllib.loads(file.read_text("utf-8"))["project"]["optional-dependencies"]["service"]
    assert f"uvicorn{SUPPORTED}" in extra
