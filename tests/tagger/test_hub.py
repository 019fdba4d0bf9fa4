"""Taggers pushed to a hub and pulled from it, by the real library, over a real socket."""

import shutil
import threading
from pathlib import Path

import huggingface_hub
import huggingface_hub.constants as constants
import huggingface_hub.errors
import pytest

from hub_server import READ_TOKEN, TOKEN, HubServer, Repository
from labelgrove import Tagger
from labelgrove.core import storage
from labelgrove.core.cards import generated, parse_card
from labelgrove.core.errors import (
    DamagedError,
    HubError,
    InputError,
    MissingExtraError,
    NewerFormatError,
    SignatureError,
)
from labelgrove.core.json_files import write_json
from labelgrove.core.manifest import CARD, _own_checksum
from labelgrove.core.progress import Silent
from labelgrove.core.signing import new_keys, sign
from labelgrove.models.contract import known_answer
from labelgrove.tagger.hub import PushOptions, connection, fetch, pull, pulling, push, pushing

TEXTS, LABELS = known_answer(300)
NAME = "me/my-tagger"
# of huggingface_hub 2.4, which uploads large files in a way that its HTTP library deprecates
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")


@pytest.fixture(scope="module")
def tagger():
    return Tagger("most-frequent").fit(TEXTS, LABELS)


@pytest.fixture(scope="module")
def made(tagger, tmp_path_factory):
    folder = tmp_path_factory.mktemp("made") / "my-tagger"
    tagger.save(folder)
    return folder


@pytest.fixture(scope="module")
def running():
    server = HubServer()
    yield server
    server.close()


@pytest.fixture
def hub(running, tmp_path, monkeypatch):
    """The server without repositories, which the library takes for the hub, and an empty cache."""
    running.repositories.clear()
    running.requests.clear()
    running.behave, running.ignored = None, frozenset()
    template = running.url + "/{repo_id}/resolve/{revision}/{filename}"
    for name, value in {
        "ENDPOINT": running.url,
        "HUGGINGFACE_CO_URL_TEMPLATE": template,
        "HF_HUB_CACHE": str(tmp_path / "cache"),
        "HF_HUB_OFFLINE": False,
        "HF_HUB_DISABLE_XET": True,  # the server knows LFS only
    }.items():
        monkeypatch.setattr(constants, name, value)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    return running


class Heard(Silent):
    """Keeps what is said, and may do something when it hears a word."""

    def __init__(self, **acts):
        self.lines, self.acts = [], acts

    def say(self, message):
        self.lines.append(message)
        for word, act in self.acts.items():
            if word in message:
                act()


def pushed(folder, progress=None, **options):
    return push(folder, PushOptions(**{"repository": NAME, **options}), progress or Silent())


def pulled(out, progress=None, **options):
    return pull(options.pop("repository", NAME), out, progress=progress or Silent(), **options)


def files(hub, branch="main"):
    repository = hub.repositories[NAME]
    return repository.commits[repository.branches[branch]]


def assert_same(one, other):
    for path in one.rglob("*"):
        if path.is_file() and path.name != CARD:
            assert (other / path.relative_to(one)).read_bytes() == path.read_bytes()
    assert {p.relative_to(one) for p in one.rglob("*")} == {
        p.relative_to(other) for p in other.rglob("*")
    }


# --- there and back -----------------------------------------------------------------------------


def test_a_tagger_that_is_pushed_can_be_pulled(hub, made, tagger, tmp_path):
    address = pushed(made, license="cc-by-4.0", languages=["en"])
    sha = hub.repositories[NAME].branches["main"]
    assert address.endswith(sha)
    assert any(path.startswith("/lfs/") for _, path in hub.requests), "some files are large ones"
    assert pulled(tmp_path / "out") == sha
    assert_same(made, tmp_path / "out")
    assert not any(path.is_symlink() for path in (tmp_path / "out").rglob("*"))
    again = Tagger.load(tmp_path / "out")
    assert again.tag(TEXTS[:3], k=2) == tagger.tag(TEXTS[:3], k=2)
    told = parse_card((tmp_path / "out" / CARD).read_text()).told
    assert (told["license"], told["languages"], told["repository"]) == ("cc-by-4.0", ["en"], NAME)
    assert f"labelgrove pull {NAME}\n" in (tmp_path / "out" / CARD).read_text()


def test_python_pushes_and_loads(hub, tagger, tmp_path):
    heard = Heard()
    tagger.push_to_hub(NAME, private=True, license="mit", progress=heard)
    assert hub.repositories[NAME].private
    assert "which is private" in heard.lines[0]
    again = Tagger.from_pretrained(NAME)
    assert again.tag(TEXTS[:3], k=2) == tagger.tag(TEXTS[:3], k=2)
    again.save(tmp_path / "mine")
    assert Tagger.from_pretrained(tmp_path / "mine").tag("x") == tagger.tag("x")
    with pytest.raises(InputError, match="mine is a folder, which has no revision 'v2'"):
        Tagger.from_pretrained(tmp_path / "mine", revision="v2")


def test_only_what_belongs_to_the_tagger_is_uploaded(hub, made, tmp_path):
    folder = tmp_path / "my-tagger"
    shutil.copytree(made, folder)
    (folder / ".DS_Store").write_text("of a file manager")
    (tmp_path / "my-tagger.feedback.jsonl").write_text("{}")
    pushed(folder)
    listed = {*storage.read_manifest(folder)["files"], "manifest.json", CARD, ".gitattributes"}
    assert {*files(hub)} == listed
    (folder / "notes.txt").write_text("private")
    with pytest.raises(DamagedError, match=r"does not list: '\.DS_Store', 'notes\.txt'|'notes"):
        pushed(folder)


def test_it_is_said_what_is_uploaded_before_it_is(hub, tmp_path):
    knn = Tagger("knn", validation=0).fit(TEXTS[:20], LABELS[:20])
    knn.learned_.model.vectors = "/home/me/vectors.txt"
    knn.save(tmp_path / "x")
    before = []
    heard = Heard(PUBLIC=lambda: before.extend({*files(hub)}))
    pushed(tmp_path / "x", heard)
    assert before == [".gitattributes"], "nothing had been uploaded by then"
    n = len(files(hub)) - 1
    size = sum(map(len, files(hub).values())) / 1e6
    first = f"{n} files, {size:,.1f} MB, to {hub.url}/{NAME}, which is PUBLIC: anyone can read"
    assert heard.lines[0].startswith(first)
    assert heard.lines[1] == "the tagger also holds how its training documents begin"
    assert "names paths of this machine: '/home/me/vectors.txt'" in heard.lines[2]


def test_a_dry_run_changes_nothing(hub, made):
    heard = Heard()
    assert pushed(made, heard, dry_run=True, private=True) == ""
    assert "which is private" in heard.lines[0]
    assert hub.repositories == {}
    assert {method for method, _ in hub.requests} == {"GET"}


def test_a_signed_tagger_stays_signed(hub, made, tmp_path):
    pytest.importorskip("cryptography")
    folder = tmp_path / "my-tagger"
    shutil.copytree(made, folder)
    public = new_keys(tmp_path / "key")
    other = new_keys(tmp_path / "other")
    sign(folder, tmp_path / "key")
    pushed(folder, license="mit")
    pulled(tmp_path / "out", signed_by=public)
    Tagger.load(tmp_path / "out", require_signature=public)
    Tagger.from_pretrained(NAME, require_signature=public)
    with pytest.raises(SignatureError, match=f"{NAME} is not signed by"):
        Tagger.from_pretrained(NAME, require_signature=other)
    with pytest.raises(SignatureError, match=f"{NAME} is not signed by"):
        pulled(tmp_path / "out2", signed_by=other)
    assert not (tmp_path / "out2").exists()
    pushed(made)
    assert "manifest.sig" not in files(hub), "the old signature is not of the new tagger"


# --- again --------------------------------------------------------------------------------------


def test_another_tagger_replaces_the_one_before_and_nothing_else(hub, made, tmp_path):
    knn = Tagger("knn", validation=0).fit(TEXTS[:20], LABELS[:20])
    knn.save(tmp_path / "x")
    pushed(tmp_path / "x", license="mit")
    repository = hub.repositories[NAME]
    repository.commit("main", {**files(hub), "picture.png": b"x"}, "a picture")
    heard = Heard()
    pushed(made, heard)
    assert "picture.png" in files(hub)
    assert not [name for name in files(hub) if "neighbours" in name]
    assert any("tagger before" in line for line in heard.lines)
    assert parse_card(files(hub)[CARD].decode()).told["license"] == "mit", "it is kept"
    pulled(tmp_path / "out")
    assert_same(made, tmp_path / "out")


def test_pushing_the_same_again_makes_no_commit(hub, made):
    first, heard = pushed(made), Heard()
    assert pushed(made, heard) == first
    assert heard.lines[-1].startswith("nothing has changed")


def test_branches_and_revisions(hub, made, tmp_path):
    pushed(made)
    first = hub.repositories[NAME].branches["main"]
    other = tmp_path / "other"
    Tagger("most-frequent").fit(TEXTS[:100], LABELS[:100]).save(other)
    pushed(other, revision="next", message="tried on less")
    assert hub.repositories[NAME].branches["main"] == first
    assert hub.repositories[NAME].messages[-1] == "tried on less"
    assert pulled(tmp_path / "a", revision="next") != first
    assert_same(other, tmp_path / "a")
    assert pulled(tmp_path / "b", revision=first) == first
    assert Tagger.from_pretrained(NAME, revision="next").learned_.labels.n_documents == 100
    with pytest.raises(InputError, match=f"{NAME} has no revision 'nope'"):
        pulled(tmp_path / "c", revision="nope")
    with pytest.raises(InputError, match="is a commit, to which nothing can be pushed"):
        pushed(made, revision=first)


def test_a_card_that_was_edited_on_the_hub_stays(hub, made, tmp_path):
    pushed(made)
    hub.repositories[NAME].commit("main", {**files(hub), CARD: b"# Mine"}, "edited")
    heard = Heard()
    pushed(made, heard)
    assert files(hub)[CARD] == b"# Mine"
    assert heard.lines[-2] == "README.md was edited in the repository, so it stays as it is there"
    with pytest.raises(InputError, match=f"the README.md of {NAME} was edited by hand"):
        pushed(made, license="mit")
    pulled(tmp_path / "out")
    assert (tmp_path / "out" / CARD).read_text() == "# Mine"
    (tmp_path / "out" / CARD).write_text("# Mine here")
    pulled(tmp_path / "out", heard, overwrite=True)
    assert (tmp_path / "out" / CARD).read_text() == "# Mine here"
    assert heard.lines[-1].startswith("README.md was edited by hand, so it stays as it is in ")


def test_a_card_that_was_edited_here_is_pushed_and_a_link_never(hub, made, tmp_path):
    folder = tmp_path / "my-tagger"
    shutil.copytree(made, folder)
    (folder / CARD).write_text("---\nlibrary_name: labelgrove\n---\n# Mine")
    pushed(folder)
    assert files(hub)[CARD].endswith(b"# Mine")
    with pytest.raises(InputError, match="my-tagger was edited by hand"):
        pushed(folder, license="mit")
    (tmp_path / "secret").write_text("secret")
    (folder / CARD).unlink()
    (folder / CARD).symlink_to(tmp_path / "secret")
    pushed(folder, repository="me/other")
    repository = hub.repositories["me/other"]
    assert b"secret" not in repository.commits[repository.branches["main"]][CARD]


# --- the cache ----------------------------------------------------------------------------------


def test_a_second_pull_needs_no_network(hub, made, tmp_path, monkeypatch):
    pushed(made)
    pulled(tmp_path / "one")
    hub.requests.clear()
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    heard = Heard()
    pulled(tmp_path / "two", heard)
    assert heard.lines[0].endswith("from the cache")
    assert Tagger.from_pretrained(NAME).tag("x") == Tagger.load(made).tag("x")
    assert hub.requests == []
    assert_same(made, tmp_path / "two")
    with pytest.raises(InputError, match=r"HF_HUB_OFFLINE is set, and of me/other it is not in"):
        pulled(tmp_path / "three", repository="me/other")
    with pytest.raises(InputError, match="HF_HUB_OFFLINE is set, and pushing needs the hub"):
        pushed(made)
    blob = next(p for p in (tmp_path / "cache").rglob("*.npy") if p.is_symlink())
    blob.unlink()
    with pytest.raises(InputError, match="of me/my-tagger only a part of it is in the cache"):
        pulled(tmp_path / "three")
    assert not (tmp_path / "three").exists()


def test_the_cache_serves_while_the_hub_does_not_answer(hub, made, tmp_path, monkeypatch):
    pushed(made)
    pulled(tmp_path / "one")
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    heard = Heard()
    pulled(tmp_path / "two", heard)
    assert "127.0.0.1:9 cannot be reached" in heard.lines[0]
    assert heard.lines[0].endswith("the copy in the cache is taken")
    assert_same(made, tmp_path / "two")


def test_a_damaged_copy_in_the_cache_is_refused(hub, made, tmp_path):
    pushed(made)
    link = next(fetch(NAME, revision=None, progress=Silent()).rglob("counts.npy"))
    blob = link.resolve()
    blob.write_bytes(blob.read_bytes()[:-1] + b"x")
    with pytest.raises(DamagedError, match=f"{NAME}/.*counts.npy was altered.*hf cache rm model/"):
        pulled(tmp_path / "out")
    with pytest.raises(DamagedError, match=f"{NAME}/.*counts.npy was altered"):
        Tagger.from_pretrained(NAME)
    assert not (tmp_path / "out").exists()


# --- what goes wrong ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["my-tagger", "a/b/c", "a//b", "a/-b", "a b/c", "a/b.git", "../x"])
def test_what_is_no_repository(hub, made, tmp_path, name):
    for act in (
        lambda: pushed(made, repository=name),
        lambda: pulled(tmp_path / "out", repository=name),
        lambda: Tagger.from_pretrained(name),
    ):
        with pytest.raises(InputError, match="is no repository of the Hugging Face hub: give ow"):
            act()
    assert hub.requests == []


def test_a_folder_that_is_missing_names_the_way_to_the_hub(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"no such folder: me/x; .*Tagger.from_pretrained\('me/x'"):
        Tagger.load("me/x")
    Path("me").mkdir()
    with pytest.raises(InputError, match=r"^no such folder: me/x$"):
        Tagger.load("me/x")


def test_a_place_that_is_taken_is_refused_before_anything_is_asked(hub, made):
    with pytest.raises(InputError, match="exists already"):
        pulled(made)
    assert hub.requests == []


@pytest.mark.parametrize(
    ("token", "message"),
    [
        ("hf_wrong", "does not know the token .*'hf auth login', or set HF_TOKEN"),
        (READ_TOKEN, r"does not let you do this with me/my-tagger \(this token may only read\)"),
    ],
)
def test_a_token_that_may_not_push(hub, made, monkeypatch, token, message):
    monkeypatch.setenv("HF_TOKEN", token)
    with pytest.raises(HubError, match=message):
        pushed(made)
    assert hub.repositories == {}


def test_private_and_gated_repositories(hub, made, tmp_path, monkeypatch):
    pushed(made, private=True)
    with pytest.raises(InputError, match="shows no repository me/nothing: check the name; if it"):
        pulled(tmp_path / "out", repository="me/nothing")
    monkeypatch.setenv("HF_TOKEN", "hf_wrong")
    with pytest.raises(InputError, match=f"shows no repository {NAME}.*private, log in with"):
        pulled(tmp_path / "out")
    hub.repositories[NAME].private = False
    hub.repositories[NAME].gated = True
    with pytest.raises(HubError, match=f"{NAME} is gated: accept its conditions on {hub.url}"):
        pulled(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_public_repository_does_not_become_private_by_a_push(hub, made):
    pushed(made)
    commits = len(hub.repositories[NAME].commits)
    with pytest.raises(InputError, match="is public, which private=True does not change"):
        pushed(made, private=True)
    assert len(hub.repositories[NAME].commits) == commits


@pytest.mark.parametrize("name", ["config.json", "manifest.json"])
def test_a_repository_of_something_else(hub, made, tmp_path, name):
    hub.repositories[NAME] = Repository(private=False)
    hub.repositories[NAME].commit("main", {name: b'{"of": "another program"}'}, "theirs")
    with pytest.raises(InputError, match=f"holds what labelgrove did not write: '{name}'"):
        pushed(made)
    assert {*files(hub)} == {name}
    with pytest.raises((InputError, DamagedError), match=NAME):
        pulled(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_part_that_is_no_tagger(hub, made, tmp_path):
    with storage.writing(tmp_path / "x", {"part": "features"}) as place:
        storage.write_values(place, {"x": 1})
    with pytest.raises(InputError, match="x holds a 'features', not a tagger"):
        pushed(tmp_path / "x")
    assert hub.requests == []


def test_a_tagger_of_a_newer_format(hub, made, tmp_path):
    folder = tmp_path / "my-tagger"
    shutil.copytree(made, folder)
    pushed(folder)
    newer = {**storage.read_manifest(folder), "format": 99}
    newer.pop("checksum")
    write_json(tmp_path / "m", newer | {"checksum": _own_checksum(newer)})
    content = (tmp_path / "m").read_bytes()
    hub.repositories[NAME].commit("main", {**files(hub), "manifest.json": content}, "newer")
    with pytest.raises(NewerFormatError, match=f"{NAME} has format 99.*pip install --upgrade"):
        pulled(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_files_that_a_gitignore_keeps_out_are_missed(hub, made, tmp_path):
    hub.ignored = frozenset(["calibration/x.npy"])
    with pytest.raises(HubError, match=r"did not take 'calibration/x\.npy'.*\.gitignore"):
        pushed(made)
    with pytest.raises(DamagedError, match=r"calibration/x\.npy is missing; its maker can push"):
        pulled(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_somebody_else_pushes_meanwhile(hub, made):
    pushed(made)
    repository = hub.repositories[NAME]
    other = {name: body for name, body in files(hub).items() if name != CARD}
    heard = Heard(PUBLIC=lambda: repository.commit("main", other, "theirs"))
    with pytest.raises(HubError, match="somebody else has changed me/my-tagger meanwhile"):
        pushed(made, heard, license="mit")
    assert repository.messages[-1] == "theirs"


def test_what_the_hub_refuses_is_told_in_its_words(hub, made):
    with pytest.raises(InputError, match='"license" must be one of those that are known'):
        pushed(made, license="wtfpl")
    assert {*files(hub)} == {".gitattributes"}


def test_a_hub_that_cannot_be_reached(hub, made, tmp_path, monkeypatch):
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    for act in (lambda: pushed(made), lambda: pulled(tmp_path / "out")):
        with pytest.raises(HubError, match=r"http://127\.0\.0\.1:9 cannot be reached.*HF_ENDPOINT"):
            act()
    assert not (tmp_path / "out").exists()


def test_a_hub_that_fails(hub, made, tmp_path):
    def fail(handler):
        handler.send_response(500)
        handler.send_header("Content-Length", "0")
        handler.end_headers()
        return True

    hub.behave = fail
    with pytest.raises(HubError, match="fails with status 500: try again later"):
        pulled(tmp_path / "out")


def test_a_page_in_place_of_the_hub_is_told(hub, made, tmp_path):
    """As of a proxy that asks for a login."""

    def page(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", "6")
        handler.end_headers()
        handler.wfile.write(b"<html>")
        return True

    hub.behave = page
    for act in (lambda: pushed(made), lambda: pulled(tmp_path / "out")):
        with pytest.raises(HubError, match="not as a hub does: check HF_ENDPOINT"):
            act()
    assert not (tmp_path / "out").exists()


def test_a_hub_without_xet_names_the_way_out(hub, made, monkeypatch):
    pytest.importorskip("hf_xet")
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", False)
    with pytest.raises(HubError, match="set HF_HUB_DISABLE_XET=1"):
        pushed(made)


def test_a_hub_that_never_answers_is_not_waited_for(hub, made, tmp_path, monkeypatch):
    done = threading.Event()
    hub.behave = lambda handler: done.wait(30)
    for module in (pulling, pushing):
        monkeypatch.setattr(module, "SECONDS", 0.2)
    try:
        for act in (lambda: pushed(made), lambda: pulled(tmp_path / "out")):
            with pytest.raises(HubError, match="cannot be reached"):
                act()
    finally:
        done.set()


def test_other_requests_have_limits_too_and_get_back_their_own(hub, made, monkeypatch):
    done = threading.Event()
    hub.behave = lambda handler: handler.command == "POST" and done.wait(30)
    monkeypatch.setattr(connection, "LIMITS", (0.3, 0.3, 0.3, None))
    session = huggingface_hub.utils.get_session()
    try:
        with pytest.raises(HubError, match="cannot be reached"):
            pushed(made)
    finally:
        done.set()
    assert session.timeout.read is None


def test_a_download_that_breaks_off_goes_on_later(hub, made, tmp_path, monkeypatch):
    pushed(made)
    large = max(files(hub).items(), key=lambda each: len(each[1]))
    starts = []

    def break_off(handler):
        if handler.command != "GET" or not handler.path.endswith(large[0]):
            return False
        starts.append(handler.headers.get("Range"))
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(large[1])))
        handler.end_headers()
        handler.wfile.write(large[1][:1000])
        handler.close_connection = True
        return True

    hub.behave = break_off
    monkeypatch.setattr("time.sleep", lambda seconds: None)  # between the library's own tries
    with pytest.raises(HubError, match=r"cannot be reached, or broke off"):
        pulled(tmp_path / "out")
    assert starts
    assert not list(tmp_path.glob("*out*")), "no half folder"
    hub.behave = None
    pulled(tmp_path / "out")
    assert_same(made, tmp_path / "out")


def test_without_the_library_the_extra_is_named(made, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "huggingface_hub.constants", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'labelgrove\[hub\]'"):
        Tagger.from_pretrained(NAME)
    with pytest.raises(MissingExtraError, match=r"pip install 'labelgrove\[hub\]'"):
        pushed(made)


def test_bars_and_warnings_of_the_library_are_as_before(hub, made):
    logging = huggingface_hub.utils.logging
    before = logging.get_verbosity(), huggingface_hub.utils.are_progress_bars_disabled()
    pushed(made)
    after = logging.get_verbosity(), huggingface_hub.utils.are_progress_bars_disabled()
    assert before == after


def test_a_card_of_another_repository_is_written_for_this_one(hub, made, tmp_path):
    folder = tmp_path / "my-tagger"
    shutil.copytree(made, folder)
    (folder / CARD).write_text(generated("x", {"repository": "you/yours", "license": "mit"}))
    pushed(folder)
    assert f"labelgrove pull {NAME}\n" in files(hub)[CARD].decode()
    assert parse_card(files(hub)[CARD].decode()).told["license"] == "mit"
    assert (folder / CARD).read_text().startswith("x\n"), "the folder itself is not changed"
