import threading
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

import llm_server
from labelgrove.core.errors import InputError
from labelgrove.models.rerank import server
from labelgrove.models.rerank.server import ChatServer, NoAnswerError, Stop, check_url, key_for
from llm_server import LanguageModel

BODY = {"model": "m", "messages": [{"role": "user", "content": "yes?"}]}
SAYS = llm_server.says("yes")


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch):
    monkeypatch.setattr(server, "FIRST_PAUSE", 0.01)


def asked(behave, timeout=20.0):
    with LanguageModel(behave) as model:
        return ChatServer(model.url, timeout).ask(BODY, Stop()), model


def test_a_question_is_answered_with_what_the_server_counted():
    reply, model = asked(SAYS)
    assert (reply.content, reply.prompt_tokens, reply.completion_tokens) == ("yes", 100, 10)
    assert reply.tries == 1
    assert model.bodies == [BODY]


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_server_is_asked_again(status):
    first = llm_server.fails_first(2, status)
    reply, model = asked(lambda request, body: first(request, body) or SAYS(request, body))
    assert reply.content == "yes"
    assert reply.tries == len(model.bodies) == 3


@pytest.mark.parametrize("date", [False, True])
def test_it_is_asked_when_it_wants_to_be(date):
    until = format_datetime(datetime.now(UTC) + timedelta(seconds=2), usegmt=True)
    headers = [("Retry-After", until if date else "1")]
    first = llm_server.fails_first(1, 429, headers)
    started = time.monotonic()
    reply, _ = asked(lambda request, body: first(request, body) or SAYS(request, body))
    assert reply.tries == 2
    assert time.monotonic() - started > 0.9


@pytest.mark.parametrize(
    ("behave", "message", "tries"),
    [
        (llm_server.fails(500), "HTTP 500: busy", 4),
        (llm_server.fails(429, [("Retry-After", "3600")]), "HTTP 429: busy", 1),
        (llm_server.fails(404, message="no model m"), "HTTP 404: no model m", 1),
        (llm_server.fails(401, message="wrong key: secret"), "LABELGROVE_LLM_KEY", 1),
        (llm_server.fails(302, [("Location", "http://127.0.0.1:1/")]), "HTTP 302", 1),
        (llm_server.cuts, "the connection broke", 4),
        (llm_server.cuts_in_the_middle, "the connection broke", 4),
        (lambda request, body: llm_server.send(request, 200, {"no": 1}), "no chat completion", 1),
    ],
)
def test_what_keeps_failing_is_given_up(behave, message, tries):
    with LanguageModel(behave) as model:
        with pytest.raises(NoAnswerError, match=message) as caught:
            ChatServer(model.url, 20.0).ask(BODY, Stop())
        assert len(model.bodies) == tries
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("behave", [llm_server.drips, lambda request, body: time.sleep(2) or True])
def test_an_answer_has_a_limit_of_time(behave):
    started = time.monotonic()
    with LanguageModel(behave) as model, pytest.raises(NoAnswerError, match=r"within 0\.3 s"):
        ChatServer(model.url, 0.3).ask(BODY, Stop())
    assert time.monotonic() - started < 20  # it would drip for hours


def test_nobody_there():
    with LanguageModel() as model:
        pass
    with pytest.raises(NoAnswerError, match="cannot be reached"):
        ChatServer(model.url, 20.0).ask(BODY, Stop())


def test_a_question_ends_when_it_is_to_end():
    stop, raised = Stop(), []
    with LanguageModel(llm_server.drips) as model:

        def ask():
            try:
                ChatServer(model.url, 600.0).ask(BODY, stop)
            except NoAnswerError as error:
                raised.append(error)

        thread = threading.Thread(target=ask)
        thread.start()
        while not model.bodies:
            time.sleep(0.01)
        stop.set()
        thread.join(60)
    assert raised


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:8000/v1",
        "ftp://localhost/v1",
        "http://",
        "http://host:port/v1",
        "http://me:secret@host/v1",
        "http://host/v1?key=secret",
    ],
)
def test_an_address_that_is_none_or_holds_a_key_is_refused(url):
    with pytest.raises(InputError, match="url must") as caught:
        check_url(url)
    assert "secret" not in str(caught.value)


def test_the_path_of_chats_may_be_given_too():
    assert check_url("http://host:8000/v1/chat/completions") == "http://host:8000/v1"
    assert check_url("http://host:8000/v1/") == "http://host:8000/v1"


def test_a_key_goes_where_it_belongs(monkeypatch):
    for name in ("LABELGROVE_LLM_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    assert key_for("http://elsewhere/v1") == ""
    monkeypatch.setenv("OPENAI_API_KEY", "for OpenAI\n")
    assert key_for("https://api.openai.com/v1") == "for OpenAI"
    assert key_for("http://elsewhere/v1") == ""  # a tagger of a stranger may name any server
    monkeypatch.setenv("OPENAI_BASE_URL", "http://elsewhere/v1/")
    assert key_for("http://elsewhere/v1") == "for OpenAI"
    monkeypatch.setenv("LABELGROVE_LLM_KEY", "own")
    assert key_for("http://any/v1") == "own"
    _, model = asked(SAYS)
    assert model.keys == ["Bearer own"]
    monkeypatch.setenv("LABELGROVE_LLM_KEY", "sec\nret")
    with pytest.raises(InputError, match="LABELGROVE_LLM_KEY") as caught:
        key_for("http://any/v1")
    assert "sec" not in str(caught.value).replace("LABELGROVE", "")


def test_the_environment_may_name_another_server(monkeypatch):
    monkeypatch.setenv("LABELGROVE_LLM_URL", "http://moved:1/v1")
    assert ChatServer.of("http://old/v1", 1.0).url == "http://moved:1/v1"
