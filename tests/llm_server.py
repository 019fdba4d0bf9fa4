"""A small server that speaks as OpenAI's does, on a real socket, and can misbehave in many ways.

It answers from the question alone: the candidates whose names stand in the text, in the order in
which they stand there.
"""

import json
import socket
import threading
import time
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PATH = "/v1/chat/completions"


def text_and_candidates(body):
    """Return the text of a question and the candidates that may be answered."""
    told = body["messages"][-1]["content"]
    text = told.split("\nText:\n", 1)[1].split("\n\nCandidates", 1)[0]
    schema = body["response_format"]["json_schema"]["schema"]
    return text, schema["properties"]["labels"]["items"]["enum"]


def chosen(body):
    """Return the candidates whose names stand in the text."""
    text, names = text_and_candidates(body)
    places = {name: text.casefold().find(name.casefold()) for name in names}
    return sorted((name for name in names if places[name] >= 0), key=places.get)


class LanguageModel:
    """The server, with what it was asked.

    ``behave`` is called with the request handler and the body before a normal answer; where it
    returns True, it has answered itself. ``choose`` makes the labels of a normal answer.
    """

    def __init__(self, behave=None, choose=chosen):
        self.behave, self.choose = behave, choose
        self.bodies, self.keys, self.together, self.most_together = [], [], 0, 0
        self.lock = threading.Lock()
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                owner.answer(self)

            def log_message(self, *arguments):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, request):
        body = json.loads(request.rfile.read(int(request.headers["Content-Length"])))
        with self.lock:
            self.bodies.append(body)
            self.keys.append(request.headers.get("Authorization"))
            self.together += 1
            self.most_together = max(self.most_together, self.together)
        try:
            if request.path != PATH:
                send(request, 404, {"error": {"message": f"no {request.path} here"}})
            elif not (self.behave and self.behave(request, body)):
                send(request, 200, completion(json.dumps({"labels": self.choose(body)})))
        except OSError:
            request.close_connection = True  # whoever asked has gone
        finally:
            with self.lock:
                self.together -= 1


def completion(content):
    return {
        "choices": [{"index": 0, "message": {"role": "assistant", "content": content}}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    }


def send(request, status, record, headers=()):
    data = json.dumps(record).encode()
    request.send_response(status)
    for name, value in headers:
        request.send_header(name, value)
    request.send_header("Content-Type", "application/json")
    request.send_header("Content-Length", str(len(data)))
    request.end_headers()
    request.wfile.write(data)
    return True


# --- ways to misbehave ------------------------------------------------------------------------


def says(content):
    """Answer each question so."""
    return lambda request, body: send(request, 200, completion(content))


def fails(status, headers=(), message="busy"):
    """Answer each question with this status."""
    return lambda request, body: send(request, status, {"error": {"message": message}}, headers)


def fails_first(times, status, headers=()):
    """Answer the first few questions with this status."""
    left = [times]

    def behave(request, body):
        left[0] -= 1
        return left[0] >= 0 and send(request, status, {"error": {"message": "busy"}}, headers)

    return behave


def drips(request, body):
    """Send a byte now and then, without end."""
    request.send_response(200)
    request.send_header("Content-Length", "1000000")
    request.end_headers()
    while True:
        request.wfile.write(b" ")
        request.wfile.flush()
        time.sleep(0.02)


def cuts(request, body):
    """Close the connection without a word."""
    request.close_connection = True
    request.connection.shutdown(socket.SHUT_RDWR)
    return True


def cuts_in_the_middle(request, body):
    """Close the connection in the middle of an answer."""
    request.send_response(200)
    request.send_header("Content-Length", "1000")
    request.end_headers()
    request.wfile.write(b'{"choices": [')
    request.wfile.flush()
    return cuts(request, body)


@cache
def shared():
    """Return a server that answers as long as the tests run."""
    return LanguageModel()
