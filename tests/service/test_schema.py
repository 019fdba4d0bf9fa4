"""Schemathesis goes through the schema: what it allows works, what it forbids is refused."""

import subprocess
import sys
from pathlib import Path

import pytest

from labelgrove.corpus import ReviewItem, write_review
from services import serving

KEY = "a-key-of-more-than-sixteen-letters"
# Annif refuses languages that it does not know as bad requests, which its description cannot say
CONFIGURATION = """
[generation]
max-examples = 30
[[operations]]
include-tag = "annif"
generation.max-examples = 8
checks.positive_data_acceptance.expected-statuses = ["2xx", "400", "401", "403", "404"]
"""


@pytest.fixture(scope="module")
def address(taggers, tmp_path_factory):
    place = tmp_path_factory.mktemp("schema")
    (place / "keys").touch(0o600)
    (place / "keys").write_text(f"# ours\n{KEY}\n")
    write_review(place / "queue.jsonl", [ReviewItem("red apples", ("fruit",), ())])
    call = ("--feedback", place, "--api-keys", place / "keys", "--review", place / "queue.jsonl")
    with serving(taggers / "bonsai", *call, "--quiet") as found:
        yield found.address


def test_the_service_keeps_to_its_schema(address, tmp_path):
    (tmp_path / "schemathesis.toml").write_text(CONFIGURATION)
    done = subprocess.run(
        [
            Path(sys.executable).with_name("schemathesis"),
            *("run", f"{address}/openapi.json", "--checks", "all", "--no-color"),
            *("--header", f"Authorization: Bearer {KEY}"),
            *("--generation-database", "none", "--seed", "1"),
        ],
        capture_output=True,
        encoding="utf-8",
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "No issues found" in done.stdout, done.stdout
