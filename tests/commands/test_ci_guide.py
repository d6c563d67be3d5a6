"""The guide for pipelines: its workflow, hooks and container recipe work as it says."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "how-to" / "ci.md"
BLOCKS = re.findall(r"(?:<!-- file: (\S+) -->\n)?```(\w+)\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
FILES = {name: text for name, _, text in BLOCKS if name}


def block(kind, first):
    return next(text for _, each, text in BLOCKS if each == kind and text.startswith(first))


def builder():
    """Return the name of a program that can build a container here, None if there is none that answers."""
    for name in ("docker", "podman"):
        if shutil.which(name) and subprocess.run([name, "info"], capture_output=True, check=False).returncode == 0:
            return name
    return None


def test_the_commands_of_the_workflow_pass_one_after_another(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    assert call("run", "ward.yaml", "--store", "accepted.db", "--figures", "figures.jsonl").code == 0
    workflow = yaml.safe_load(block("yaml", "name: release"))
    steps = [step["run"] for step in workflow["jobs"]["decloak"]["steps"] if "run" in step]
    commands = re.findall(r"(?<![\w./-])decloak (?:run|publish|check|validate)[^\n)]*", "\n".join(steps))
    assert [command.split()[1] for command in commands] == ["validate", "run", "publish", "check"]
    for command in commands:
        assert call(*shlex.split(command)[1:]).code == 0, command
    for file in ("run.xml", "check.xml"):
        assert int(ElementTree.parse(file).getroot().get("tests")) > 1
    assert workflow["permissions"] == {"contents": "read"}


def test_every_hook_is_documented_and_does_what_the_guide_says(call, tmp_path, monkeypatch):
    hooks = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
    guide = GUIDE.read_text(encoding="utf-8")
    (repo,) = yaml.safe_load(block("yaml", "repos:"))["repos"]
    assert {hook["id"] for hook in repo["hooks"]} == set(hooks)
    assert all(f"| `{name}` |" in guide for name in hooks)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "rules").mkdir()
    for ending in ("yaml", "test.yaml"):
        text = (ROOT / "rules" / "synthetic" / f"copies.{ending}").read_text()
        (tmp_path / "rules" / f"echoes.{ending}").write_text(text.replace("copies", "echoes"))
    for name, content in FILES.items():
        (tmp_path / "scenarios" / name).write_text(content)
    matching = {"decloak-validate": "scenarios/ward.yaml", "decloak-rules": "rules/echoes.yaml",
                "decloak-no-store": "results/store.db"}  # fmt: skip
    for name, hook in hooks.items():
        assert re.search(hook["files"], matching[name])
        assert not re.search(hook["files"], "docs/store.md")
        if hook["language"] != "fail":
            files = [matching[name]] if hook.get("pass_filenames", True) else []
            assert call(*shlex.split(hook["entry"])[1:], *files).code == 0


def test_the_container_recipe_is_sound():
    lines = block("dockerfile", "FROM").replace("\\\n", "").splitlines()
    instructions = [line.split()[0] for line in lines]
    assert instructions == ["FROM", *["COPY"] * 4, "RUN", "USER", "WORKDIR", "ENTRYPOINT", "CMD"]
    copied = [file for line in lines[1:5] for file in line.split()[1:-1]]
    assert all((ROOT / file).exists() for file in copied)
    assert {"hatch_build.py", "README.md", "LICENSE", "engine", "rules", "scenarios"} <= set(copied), (
        "what a build reads"
    )
    image = lines[0].split()[1]
    assert re.fullmatch(r"[\w./-]+:\d+\.\d+[\w.-]*", image), "a fixed version, never latest"
    assert lines[6] != "USER root"
    assert yaml.safe_load(lines[8].partition(" ")[2]) == ["decloak"]
    assert "--no-cache-dir" in lines[5]


@pytest.mark.slow
@pytest.mark.skipif(builder() is None, reason="no docker or podman that answers")
def test_the_container_is_built_and_runs_a_scenario_without_a_network(tmp_path):
    program = builder()
    (tmp_path / "Containerfile").write_text(block("dockerfile", "FROM"))
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    tag = "decloak-guide"
    subprocess.run([program, "build", "-q", "-f", tmp_path / "Containerfile", "-t", tag, ROOT], check=True)
    tmp_path.chmod(0o777)
    run = [program, "run", "--rm", "--network", "none", "-v", f"{tmp_path}:/data", tag, "run", "ward.yaml"]
    assert subprocess.run(run, capture_output=True, text=True, check=True).stdout.startswith("RESULT")
