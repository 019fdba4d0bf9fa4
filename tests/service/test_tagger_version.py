"""Each answer says which saved tagger gave it, also when another one is loaded meanwhile."""

import asyncio
import json

import pytest

from asgi import answered, in_process
from labelgrove.service.served import Served
from services import made

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.fixture
def own(tmp_path):
    made(tmp_path / "quick", "most-frequent")
    return tmp_path / "quick"


def version_of(folder):
    """Return what the guide says: the first 12 characters of the manifest's checksum."""
    return json.loads((folder / "manifest.json").read_text())["checksum"][:12]


def test_every_answer_of_a_tagger_has_its_version(own, tmp_path):
    with in_process(own, feedback=tmp_path) as service:
        batch = {"documents": [{"text": "red apples"}]}
        learned = [{"text": "red", "subjects": [{"uri": "colour"}]}]
        project = "/v1/projects/quick"
        for got in (
            service.ask("/v1/tag", {"text": "red apples"}),
            service.ask("/v1/tag", {"texts": ["red", "green"]}),
            service.ask("/v1/explain", {"text": "red apples", "label": "fruit"}),
            service.ask("/v1/labels?q=fruit"),
            service.ask("/v1/feedback", {"text": "red apples", "labels": ["fruit"]}),
            service.ask(f"{project}/suggest", "text=red+apples", headers=FORM),
            service.ask(f"{project}/suggest-batch", batch),
            service.ask(f"{project}/learn", json.dumps(learned)),
            service.ask(project),
        ):
            assert got.status in (200, 204)
            assert got.headers["tagger-version"] == version_of(own)
        (card,) = service.ask("/v1/models").json["models"]
        assert card["version"] == version_of(own)
        for path in ("/v1/models", "/healthz", "/", "/v1/projects"):
            assert "tagger-version" not in service.ask(path).headers, "it is no tagger's answer"


def test_an_answer_names_the_tagger_that_it_began_with(own):
    with in_process(own, wait=0.3) as service:
        before, queue = version_of(own), service.taggers.queue("")
        made(own, "most-frequent", ["a red car"] * 9, [["colour"]] * 9, overwrite=True)
        after = version_of(own)
        assert before != after

        async def with_a_reload_between():
            asked = asyncio.create_task(answered(service.app, "/v1/tag", {"text": "red"}))
            for _ in range(50):
                await asyncio.sleep(0)
            assert not asked.done(), "it waits for others"
            queue.served = Served("quick", str(own), service.taggers.settings)
            return await asked

        got = service.runner.run(with_a_reload_between())
        assert (got.status, got.headers["tagger-version"]) == (200, before)
        assert service.ask("/v1/tag", {"text": "red"}).headers["tagger-version"] == after
