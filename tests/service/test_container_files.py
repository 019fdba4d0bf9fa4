"""The files for containers: held against one another and against what the program takes."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path, PurePosixPath

import pytest
import yaml
from typer.main import get_command

from labelgrove.cli.app import app
from labelgrove.service import Limits
from labelgrove.service.settings import SHORTEST_KEY, read_keys

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "guides" / "containers"
PAGE = FOLDER.with_name("containers.md")
USER = "10001"


def instructions():
    """Return the instructions of the Dockerfile, as (name, rest), one list for each stage."""
    text = re.sub(r"^\s*#.*\n", "", (ROOT / "Dockerfile").read_text("utf-8"), flags=re.M)
    lines = re.sub(r"\\\n\s*", " ", text).splitlines()
    stages = [[]]
    for name, _, rest in (line.partition(" ") for line in lines if line):
        if name == "FROM":
            stages.append([])
        stages[-1].append((name, rest))
    return stages


ARGUMENTS, BUILD, FINAL = instructions()


def given(stage, name):
    return [rest for each, rest in stage if each == name]


def environment(stage):
    return dict(pair.split("=", 1) for rest in given(stage, "ENV") for pair in shlex.split(rest))


@pytest.fixture(scope="module")
def compose():
    return yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))["services"]["labelgrove"]


@pytest.fixture(scope="module")
def kubernetes():
    """The objects of the file for Kubernetes, by kind."""
    text = (FOLDER / "kubernetes.yaml").read_text("utf-8")
    return {each["kind"]: each for each in yaml.safe_load_all(text)}


@pytest.fixture(scope="module")
def pod(kubernetes):
    return kubernetes["Deployment"]["spec"]["template"]["spec"]


@pytest.fixture(scope="module")
def container(pod):
    (found,) = pod["containers"]
    return found


def parsed(words):
    """Parse a command as labelgrove does, without running it."""
    name, *arguments = words
    assert name == "serve"
    with get_command(app).commands["serve"].make_context(name, list(map(str, arguments))) as found:
        return found.params


def test_every_command_is_one_that_labelgrove_takes(compose, container):
    (image,) = given(FINAL, "CMD")
    for words, folder in (
        (json.loads(image), "/tagger"),
        (compose["command"], "/tagger"),
        (container["args"], "/models/tagger"),
    ):
        told = parsed(words)
        assert told["folders"] == [folder]
        assert told["host"] == "0.0.0.0"
        assert told["port"] == 8000
        assert told["no_feedback"] or told["feedback"] == Path("/feedback")


def test_one_port_everywhere(compose, container, kubernetes):
    assert given(FINAL, "EXPOSE") == ["8000"]
    (published,) = compose["ports"]
    assert published == "127.0.0.1:${PORT:-8000}:8000", "nobody else reaches it unasked"
    (port,) = container["ports"]
    assert port == {"name": "http", "containerPort": 8000}
    (outside,) = kubernetes["Service"]["spec"]["ports"]
    assert (outside["port"], outside["targetPort"]) == (8000, port["name"])


def test_one_user_who_owns_nothing_but_feedback(compose, pod, container):
    (made,) = given(FINAL, "RUN")
    assert f"groupadd --gid {USER} " in made
    assert f"useradd --uid {USER} --gid {USER} " in made
    assert re.findall(r"--owner=(\S+) --group=(\S+) (\S+)", made) == [(USER, USER, "/feedback")]
    assert given(FINAL, "USER") == [compose["user"]] == [f"{USER}:{USER}"]
    rights = pod["securityContext"]
    assert rights["runAsNonRoot"]
    assert {str(rights[each]) for each in ("runAsUser", "runAsGroup", "fsGroup")} == {USER}
    own = container["securityContext"]
    assert not own["allowPrivilegeEscalation"]
    assert compose["cap_drop"] == own["capabilities"]["drop"] == ["ALL"]


def test_a_read_only_root_has_a_place_for_all_that_is_written(compose, pod, container):
    written = {
        name: PurePosixPath(environment(FINAL)[name])
        for name in ("HOME", "NUMBA_CACHE_DIR", "MPLCONFIGDIR")
    }
    assert compose["read_only"]
    (tmpfs,) = compose["tmpfs"]
    assert container["securityContext"]["readOnlyRootFilesystem"]
    mounts = {each["name"]: each for each in container["volumeMounts"]}
    volumes = {each["name"]: each for each in pod["volumes"]}
    assert volumes.keys() == mounts.keys()
    assert "emptyDir" in volumes["tmp"]
    for place in (tmpfs.partition(":")[0], mounts["tmp"]["mountPath"]):
        assert all(path.is_relative_to(place) for path in written.values())


def test_taggers_are_mounted_read_only_where_the_commands_look(compose, pod, container):
    tagger, feedback = compose["volumes"]
    assert (tagger["target"], tagger["read_only"]) == ("/tagger", True)
    assert (feedback["target"], feedback.get("read_only", False)) == ("/feedback", False)
    assert "install --directory /tagger " in f"{given(FINAL, 'RUN')[0]} "
    (models,) = (each for each in container["volumeMounts"] if each["name"] == "models")
    (volume,) = (each for each in pod["volumes"] if each["name"] == "models")
    assert models["readOnly"]
    assert volume["persistentVolumeClaim"]["readOnly"]
    assert PurePosixPath(container["args"][1]).is_relative_to(models["mountPath"])


def test_no_more_threads_than_processors(compose, container):
    assert parsed(compose["command"])["threads"] == compose["cpus"]
    limit = int(container["resources"]["limits"]["cpu"])
    assert parsed(container["args"])["threads"] == limit


def test_what_was_asked_is_answered_before_the_end(compose, pod, container):
    assert int(compose["stop_grace_period"].removesuffix("s")) > Limits().seconds
    ((_, pause),) = (container["lifecycle"]["preStop"]["exec"]["command"],)
    assert pod["terminationGracePeriodSeconds"] > Limits().seconds + int(pause)


def test_probes_call_the_service_by_a_name_that_it_has(kubernetes, container):
    names = parsed(container["args"])["allow_host"]
    assert kubernetes["Service"]["metadata"]["name"] in names
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        asked = container[probe]["httpGet"]
        assert (asked["path"], asked["port"]) == ("/healthz", "http")
        (header,) = asked["httpHeaders"]
        assert header["name"] == "Host"
        assert header["value"] in names


def test_labels_of_kubernetes_belong_together(kubernetes):
    deployment = kubernetes["Deployment"]["spec"]
    labels = deployment["template"]["metadata"]["labels"]
    assert deployment["selector"]["matchLabels"] == labels
    assert kubernetes["Service"]["spec"]["selector"] == labels
    assert kubernetes["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == labels
    assert kubernetes["PodDisruptionBudget"]["spec"]["minAvailable"] < deployment["replicas"]


def test_what_is_copied_is_there_and_not_ignored():
    lines = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    kept = {line.removeprefix("!") for line in lines if line.startswith("!")}
    assert "*" in lines
    copied = [
        word
        for stage in (BUILD, FINAL)
        for rest in given(stage, "COPY")
        if "--from=" not in rest
        for word in rest.split()[:-1]
        if not word.startswith("--")
    ]
    assert "src" in copied
    for name in copied:
        assert (ROOT / name).exists()
        assert any(PurePosixPath(name).match(each) for each in kept), name
    for pattern in kept:
        assert list(ROOT.glob(pattern)), f"{pattern} is nothing"
    assert all((ROOT / name).is_file() for name in ("pyproject.toml", "constraints.txt"))


def test_extras_of_the_image_are_those_of_the_package(compose):
    written = (ROOT / "pyproject.toml").read_text("utf-8")
    assert "EXTRAS=service" in given(BUILD, "ARG")
    assert compose["build"]["args"] == {"EXTRAS": "${EXTRAS:-service}"}
    for extras in re.findall(r"EXTRAS=([\w,]+)", PAGE.read_text("utf-8")):
        for extra in extras.split(","):
            assert re.search(rf"^{extra} = \[", written, re.M), extra


def test_the_health_check_tells_whether_the_service_answers(service, compose):
    (image,) = given(FINAL, "HEALTHCHECK")
    program, *arguments = json.loads(image.partition("CMD ")[2])
    assert ["CMD", program, *arguments] == compose["healthcheck"]["test"]
    for name in ("interval", "timeout", "retries"):
        assert f"--{name}={compose['healthcheck'][name]}" in image
    assert program == "python"

    def code(port):
        told = [each.replace(":8000/", f":{port}/") for each in arguments]
        assert told != arguments
        return subprocess.run([sys.executable, *told], capture_output=True, check=False).returncode

    assert code(service.port) == 0
    assert code(9) == 1


def test_a_container_starts_with_the_kernels_of_the_image(tmp_path):
    kernels = environment(BUILD)["NUMBA_CACHE_DIR"]
    script = (FOLDER / "start.sh").read_text("utf-8")
    assert script.count(kernels) == 1
    image, own = tmp_path / "image", tmp_path / "own"
    image.mkdir()
    (image / "kernel").write_text("compiled")
    (tmp_path / "start").write_text(script.replace(kernels, str(image)))
    (tmp_path / "labelgrove").write_text('#!/bin/sh\nprintf "%s|" "$@"\n')
    (tmp_path / "labelgrove").chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    for content in ("compiled", "changed"):  # the second start keeps what is there
        done = subprocess.run(
            ["sh", tmp_path / "start", "serve", "a b"],
            env={"PATH": path, "NUMBA_CACHE_DIR": str(own)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout == "serve|a b|"
        assert (own / "kernel").read_text() == content
        (own / "kernel").write_text("changed")


@pytest.mark.skipif(os.name == "nt", reason="no such rights")
def test_keys_from_a_secret_are_private_enough(tmp_path):
    """The guide gives the file of a secret the mode 0440, and its group to the service."""
    assert "defaultMode: 0440" in PAGE.read_text("utf-8")
    file = tmp_path / "keys"
    file.write_text("k" * SHORTEST_KEY)
    file.chmod(0o440)
    assert read_keys(file) == ("k" * SHORTEST_KEY,)


def test_the_guide_names_all_files():
    text = PAGE.read_text("utf-8")
    assert all(f"(containers/{path.name})" in text for path in FOLDER.iterdir())
