"""A small server that speaks the API of the Hugging Face hub, as far as taggers need it.

The real ``huggingface_hub`` talks to it over a real socket: repositories, branches, commits with
regular and large files (LFS), listings and downloads with ranges. It is not the hub: what the hub
itself does beyond this is not tested by it. Metadata of cards is checked as YAML.
"""

import base64
import hashlib
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

import yaml

TOKEN, READ_TOKEN = "hf_good", "hf_reads"
LARGE = 2_000  # bytes from which on a file is stored as a large one


class Repository:
    """A repository: commits, each a mapping from paths to contents, and branches."""

    def __init__(self, private):
        self.private, self.gated = private, False
        self.commits, self.branches, self.messages = {}, {}, []
        self.commit("main", {".gitattributes": b"*.npy filter=lfs\n"}, "initial commit")

    def commit(self, branch, files, message):
        kept = {path: body for path, body in files.items() if body is not None}
        number = f"{len(self.commits)}{message}{sorted(kept)}".encode()
        sha = hashlib.sha1(number).hexdigest()
        self.commits[sha], self.branches[branch] = kept, sha
        self.messages.append(message)
        return sha

    def sha(self, revision):
        revision = unquote(revision)
        return self.branches.get(revision) or (revision if revision in self.commits else None)


def oid(body):
    """Return the hash by which git knows a file."""
    return hashlib.sha1(b"blob %d\0" % len(body) + body).hexdigest()


class HubServer:
    """The server, with its repositories and the requests it got.

    ``behave`` is called with the handler before an answer; where it returns True, it has answered
    itself. ``ignored`` are paths that a ``.gitignore`` would keep out.
    """

    def __init__(self):
        self.repositories, self.large = {}, {}
        self.requests, self.behave, self.ignored = [], None, frozenset()
        self.private_token = TOKEN
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *arguments):
                pass

        for verb in ("GET", "HEAD", "POST", "PUT"):
            setattr(Handler, f"do_{verb}", lambda handler: owner.answer(handler))
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    # --- answers --------------------------------------------------------------------------------

    def answer(self, handler):
        path = urlsplit(handler.path).path
        length = int(handler.headers.get("Content-Length", 0))
        chunked = handler.headers.get("Transfer-Encoding") == "chunked"
        body = read_chunks(handler.rfile) if chunked else handler.rfile.read(length)
        self.requests.append((handler.command, path))
        if self.behave and self.behave(handler):
            return
        for method, pattern, act in ROUTES:
            if handler.command in method and (found := re.fullmatch(pattern, path)):
                act(self, handler, body, *found.groups())
                return
        reply(handler, 404, {"error": f"no such way: {path}"})

    def token(self, handler):
        return handler.headers.get("Authorization", "").removeprefix("Bearer ")

    def writes(self, handler):
        token = self.token(handler)
        if token == TOKEN:
            return True
        if token == READ_TOKEN:
            refuse(handler, 403, "", "this token may only read")
        else:
            refuse(handler, 401, "", "Invalid credentials in Authorization header")
        return False

    def opened(self, handler, name):
        """Return a repository that the caller may see; else say what the hub says."""
        found, known = self.repositories.get(name), self.token(handler) in (TOKEN, READ_TOKEN)
        if found is None or (found.private and not known):
            refuse(handler, 404 if known else 401, "RepoNotFound", "Repository not found")
            return None
        if found.gated:
            refuse(handler, 403, "GatedRepo", "Access to this repository is restricted")
            return None
        return found

    def at(self, handler, name, revision):
        repository = self.opened(handler, name)
        sha = repository and repository.sha(revision or "main")
        if repository and not sha:
            refuse(handler, 404, "RevisionNotFound", f"Invalid rev id: {revision}")
        return (repository, sha) if sha else (None, None)

    def create(self, handler, body):
        if not self.writes(handler):
            return
        told = json.loads(body)
        name = f"{told['organization']}/{told['name']}"
        if name in self.repositories:
            reply(handler, 409, {"error": "You already created this repo", "url": name})
            return
        self.repositories[name] = Repository(told.get("visibility") == "private")
        reply(handler, 200, {"url": f"{self.url}/{name}"})

    def branch(self, handler, body, name, branch):
        repository = self.opened(handler, name) if self.writes(handler) else None
        if repository:
            repository.branches[unquote(branch)] = repository.branches["main"]
            reply(handler, 200, {})

    def info(self, handler, body, name, revision=None):
        repository, sha = self.at(handler, name, revision)
        if repository:
            files = [{"rfilename": path} for path in sorted(repository.commits[sha])]
            told = {"id": name, "modelId": name, "sha": sha, "private": repository.private}
            reply(handler, 200, {**told, "siblings": files})

    def tree(self, handler, body, name, revision):
        repository, sha = self.at(handler, name, revision)
        if repository:
            files = repository.commits[sha].items()
            reply(handler, 200, [entry(path, content) for path, content in sorted(files)])

    def check_card(self, handler, body):
        head = json.loads(body)["content"].split("---\n")[1]
        try:
            told = yaml.safe_load(head)
            wrong = [] if told["library_name"] == "labelgrove" else [{"message": "whose is it?"}]
            if told.get("license", "mit") not in ("mit", "apache-2.0", "cc-by-4.0", "other"):
                wrong = [{"message": '"license" must be one of those that are known'}]
        except Exception as error:
            wrong = [{"message": str(error)}]
        reply(handler, 400 if wrong else 200, {"errors": wrong, "warnings": []})

    def preupload(self, handler, body, name, revision):
        repository, sha = self.at(handler, name, revision) if self.writes(handler) else (None, "")
        if repository:
            before = repository.commits[sha]
            files = [self.mode(each, before) for each in json.loads(body)["files"]]
            reply(handler, 200, {"files": files})

    def mode(self, file, before):
        path, old = file["path"], before.get(file["path"])
        large = file["size"] >= LARGE
        known = None if old is None else (hashlib.sha256(old).hexdigest() if large else oid(old))
        mode = "lfs" if large else "regular"
        ignored = path in self.ignored
        return {"path": path, "uploadMode": mode, "shouldIgnore": ignored, "oid": known}

    def batch(self, handler, body, name):
        if self.writes(handler) and self.opened(handler, name):
            objects = [
                {**each, "actions": {"upload": {"href": f"{self.url}/lfs/{each['oid']}"}}}
                for each in json.loads(body)["objects"]
                if each["oid"] not in self.large
            ]
            reply(handler, 200, {"transfer": "basic", "objects": objects})

    def store(self, handler, body, name):
        assert hashlib.sha256(body).hexdigest() == name
        self.large[name] = body
        reply(handler, 200, {})

    def commit(self, handler, body, name, branch):
        repository = self.opened(handler, name) if self.writes(handler) else None
        if repository is None:
            return
        lines = [json.loads(line) for line in body.splitlines()]
        header = lines[0]["value"]
        sha = repository.sha(branch)
        if header.get("parentCommit") not in (None, sha):
            reply(handler, 412, {"error": "A commit has happened since. Please refresh"})
            return
        files = dict(repository.commits[sha])
        for line in lines[1:]:
            kind, value = line["key"], line["value"]
            if kind == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif kind == "lfsFile":
                files[value["path"]] = self.large[value["oid"]]
            else:
                assert kind == "deletedFile"
                del files[value["path"]]
        sha = repository.commit(unquote(branch), files, header["summary"])
        told = {"commitUrl": f"{self.url}/{name}/commit/{sha}", "commitOid": sha}
        reply(handler, 200, {**told, "success": True})

    def file(self, handler, body, name, revision, path):
        repository, sha = self.at(handler, name, revision)
        if not repository:
            return
        content = repository.commits[sha].get(unquote(path))
        if content is None:
            refuse(handler, 404, "EntryNotFound", "Entry not found", {"X-Repo-Commit": sha})
            return
        tag = hashlib.sha256(content).hexdigest() if len(content) >= LARGE else oid(content)
        headers = {"X-Repo-Commit": sha, "ETag": f'"{tag}"', "Accept-Ranges": "bytes"}
        start = re.fullmatch(r"bytes=(\d+)-", handler.headers.get("Range", ""))
        if start:
            rest = content[int(start[1]) :]
            headers["Content-Range"] = f"bytes {start[1]}-{len(content) - 1}/{len(content)}"
            reply(handler, 206, rest, headers)
        else:
            reply(handler, 200, content, headers)


NAME = r"([\w.-]+/[\w.-]+)"
ROUTES = [
    ("POST", r"/api/repos/create", HubServer.create),
    ("POST", r"/api/validate-yaml", HubServer.check_card),
    ("POST", rf"/api/models/{NAME}/branch/(.+)", HubServer.branch),
    ("POST", rf"/api/models/{NAME}/preupload/(.+)", HubServer.preupload),
    ("POST", rf"/api/models/{NAME}/commit/(.+)", HubServer.commit),
    ("GET", rf"/api/models/{NAME}/tree/([^/]+)", HubServer.tree),
    ("GET", rf"/api/models/{NAME}/revision/(.+)", HubServer.info),
    ("GET", rf"/api/models/{NAME}", HubServer.info),
    ("POST", rf"/{NAME}\.git/info/lfs/objects/batch", HubServer.batch),
    ("PUT", r"/lfs/(\w+)", HubServer.store),
    ("GET HEAD", rf"/{NAME}/resolve/([^/]+)/(.+)", HubServer.file),
]


def entry(path, content):
    told = {"type": "file", "path": path, "size": len(content), "oid": oid(content)}
    if len(content) >= LARGE:
        sha256 = hashlib.sha256(content).hexdigest()
        told["lfs"] = {"oid": sha256, "size": len(content), "pointerSize": 130}
    return told


def read_chunks(stream):
    """Return a body that comes in chunks."""
    parts = []
    while size := int(stream.readline(), 16):
        parts.append(stream.read(size))
        stream.readline()
    stream.readline()
    return b"".join(parts)


def refuse(handler, status, code, message, headers=()):
    told = {"X-Error-Code": code, "X-Error-Message": message} if code else {}
    if status == 401 and not code:
        told = {"X-Error-Message": message}
    reply(handler, status, {"error": message}, {**told, **dict(headers)})


def reply(handler, status, content, headers=()):
    kind = "application/octet-stream" if isinstance(content, bytes) else "application/json"
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    handler.send_response(status)
    for name, value in {"Content-Type": kind, **dict(headers)}.items():
        handler.send_header(name, value)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    if handler.command != "HEAD":
        handler.wfile.write(body)
