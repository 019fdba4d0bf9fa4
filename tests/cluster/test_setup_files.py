"""The files that the guide to clusters has for copying: what Ray, KubeRay and SLURM read."""

import json
import re
import shlex
import subprocess
from pathlib import Path

import jsonschema
import pytest
import yaml
from typer.main import get_command

from labelgrove.cli.app import app

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "guides" / "clusters"
PAGE = FOLDER.with_name("clusters-setup.md")
CONTINUED = re.compile(r"\\\n\s*")
# fields of ray.io/v1 that KubeRay 1.5 knows
JOB = {"entrypoint", "shutdownAfterJobFinishes", "ttlSecondsAfterFinished", "rayClusterSpec"}
CLUSTER = {"rayVersion", "authOptions", "headGroupSpec", "workerGroupSpecs"}
WORKERS = {"groupName", "replicas", "minReplicas", "maxReplicas", "rayStartParams", "template"}


def read(name):
    return (FOLDER / name).read_text(encoding="utf-8")


def ray_version():
    found = re.search(r"^ray==(\S+)$", (ROOT / "constraints.txt").read_text(), re.M)
    return found[1]


def commands(text, program):
    """Return what a text passes to a program, as words, up to what ends it."""
    found = re.findall(rf"\b{program} [^&|'`)\n]+", CONTINUED.sub(" ", text))
    return [shlex.split(each, comments=True) for each in found]


def options(words):
    return {word.partition("=")[0] for word in words if word.startswith("--")}


SOURCES = [PAGE, *sorted(FOLDER.iterdir())]


@pytest.mark.parametrize("path", SOURCES, ids=[path.name for path in SOURCES])
def test_every_command_has_the_options_that_it_is_given(path):
    from ray.scripts.scripts import start

    known = {option for each in start.params for option in each.opts}
    text = path.read_text(encoding="utf-8")
    for words in commands(text, "ray start"):
        assert options(words) <= known
    for words in commands(text, "labelgrove"):
        command = get_command(app).commands.get(words[1])
        if command is not None:
            assert options(words) <= {option for each in command.params for option in each.opts}


def test_the_files_have_commands_to_check():
    assert len(commands(read("labelgrove.sbatch"), "ray start")) == 2
    assert len(commands(read("ray-up.yaml"), "ray start")) == 2
    trained = [read("labelgrove.sbatch"), read("rayjob.yaml")]
    assert all(len(commands(each, "labelgrove train")) == 1 for each in trained)
    assert len(commands(PAGE.read_text(), "labelgrove tag")) == 1


def test_the_launcher_of_ray_takes_its_file():
    import ray
    from ray.autoscaler._private.util import prepare_config, validate_config

    config = yaml.safe_load(read("ray-up.yaml"))
    schema = Path(ray.__file__).parent / "autoscaler" / "ray-schema.json"
    jsonschema.validate(config, json.loads(schema.read_text()))
    validate_config(prepare_config(config))
    assert ray_version() in config["docker"]["image"]
    (head,) = (each for each in config["head_start_ray_commands"] if "start" in each)
    (other,) = (each for each in config["worker_start_ray_commands"] if "start" in each)
    port = re.search(r"--port=(\d+)", head)[1]
    assert f"--address=$RAY_HEAD_IP:{port}" in other
    assert config["head_node_type"] in config["available_node_types"]


def test_kuberay_knows_the_fields_of_the_job():
    job = yaml.safe_load(read("rayjob.yaml"))
    assert (job["apiVersion"], job["kind"]) == ("ray.io/v1", "RayJob")
    assert job["spec"].keys() == JOB
    cluster = job["spec"]["rayClusterSpec"]
    assert cluster.keys() == CLUSTER
    assert cluster["rayVersion"] == ray_version()
    assert cluster["authOptions"] == {"mode": "token"}
    head, (workers,) = cluster["headGroupSpec"], cluster["workerGroupSpecs"]
    assert head.keys() == {"rayStartParams", "template"}
    assert workers.keys() == WORKERS
    assert workers["minReplicas"] <= workers["replicas"] <= workers["maxReplicas"]
    pods = [each["template"]["spec"] for each in (head, workers)]
    for pod in pods:
        (container,) = pod["containers"]
        assert container["resources"]["limits"] == container["resources"]["requests"]
        names = {volume["name"] for volume in pod["volumes"]}
        assert {mount["name"] for mount in container["volumeMounts"]} == names
    assert len({pod["containers"][0]["image"] for pod in pods}) == 1
    (mount,) = pods[0]["containers"][0]["volumeMounts"]
    (words,) = commands(job["spec"]["entrypoint"], "labelgrove")
    paths = [word for word in words if word.startswith("/")]
    assert len(paths) == 2
    assert all(path.startswith(mount["mountPath"] + "/") for path in paths)
    ports = {each["name"]: each["containerPort"] for each in pods[0]["containers"][0]["ports"]}
    assert ports == {"gcs-server": 6379, "dashboard": 8265}


def test_the_image_has_the_ray_of_the_others():
    assert read("Dockerfile").splitlines()[1] == f"FROM rayproject/ray:{ray_version()}-py311"


def test_the_script_for_slurm_is_bash():
    subprocess.run(["bash", "-n", FOLDER / "labelgrove.sbatch"], check=True)


@pytest.mark.parametrize("job", [1, 4_242_424, 99_999_999])
def test_jobs_of_slurm_have_ports_that_ray_leaves_free(job):
    """Ray gives its workers the ports from 10002 to 19999."""
    script = read("labelgrove.sbatch")
    (line,) = (each for each in script.splitlines() if each.startswith("address="))
    done = subprocess.run(
        ["bash", "-euc", f'host=node; {line}; echo "${{address##*:}}"'],
        env={"SLURM_JOB_ID": str(job)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert 20_000 <= int(done.stdout) < 30_000


def test_the_page_links_every_file():
    text = PAGE.read_text(encoding="utf-8")
    assert all(f"(clusters/{path.name})" in text for path in FOLDER.iterdir())


def test_problems_of_the_page_are_what_the_package_says():
    """Words before an ellipsis are looked for in the source."""
    source = "".join(
        path.read_text(encoding="utf-8")
        for path in sorted((ROOT / "src" / "labelgrove" / "cluster").glob("*.py"))
    )
    said = re.sub(r'"\s*f?"', "", source)  # strings that are written in several pieces
    table = PAGE.read_text(encoding="utf-8").partition("## When it does not work")[2]
    problems = re.findall(r"^\| `([^`]+)` \|", table, re.M)
    assert len(problems) == 7
    for problem in problems:
        for piece in problem.split("..."):
            words = piece.replace("labelgrove than", "").strip()
            for part in words.split("  "):
                assert part in said, problem


def test_a_finished_job_of_slurm_ends_at_once(tmp_path):
    (tmp_path / "my-tagger").mkdir()
    (tmp_path / "my-tagger/manifest.json").touch()
    script = ["bash", FOLDER / "labelgrove.sbatch"]
    done = subprocess.run(script, cwd=tmp_path, env={}, capture_output=True, text=True, check=True)
    assert done.stdout == "my-tagger is finished\n"
    (tmp_path / "my-tagger.run").mkdir()  # trained again, and not to the end
    assert subprocess.run(script, cwd=tmp_path, env={}, capture_output=True, check=False).returncode
