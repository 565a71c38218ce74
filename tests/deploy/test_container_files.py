"""The Dockerfile and the compose file, as far as they can be read without a container tool."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml

from surfaces.serving.running import serving

ROOT = Path(__file__).parents[2]
DOCKERFILE = ROOT / "deploy" / "Dockerfile"
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text("utf-8"))
SERVER, DATABASE = COMPOSE["services"]["wellkept"], COMPOSE["services"]["database"]


def instructions() -> list[tuple[str, str]]:
    """Each instruction with its argument, continued lines joined."""
    lines = [line for line in DOCKERFILE.read_text("utf-8").splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    found = (line.split(maxsplit=1) for line in joined.splitlines() if line.strip())
    return [(name, argument) for name, argument in found]


def arguments(name: str) -> list[str]:
    return [argument for one, argument in instructions() if one == name]


def last_stage() -> list[tuple[str, str]]:
    whole = instructions()
    start = max(place for place, (name, _) in enumerate(whole) if name == "FROM")
    return whole[start:]


def test_the_image_runs_as_a_user_that_is_not_root() -> None:
    [user] = [argument for name, argument in last_stage() if name == "USER"]
    assert user.isdigit() and int(user) > 0


def test_what_the_server_writes_lies_in_the_volume() -> None:
    settings = dict(part.split("=", 1) for line in arguments("ENV") for part in shlex.split(line))
    [volume] = arguments("VOLUME")
    assert Path(settings["WELLKEPT_DB"]).is_relative_to(volume) and settings["HOME"] == volume


def test_nothing_is_installed_without_a_hash() -> None:
    installs = re.findall(r"pip install ([^&]*)", " && ".join(arguments("RUN")))
    assert installs
    for one in installs:
        assert "--require-hashes" in one or one.split() == ["--no-deps", "dist/*.whl"], one
    assert not re.search(r"\b(curl|wget|apt-get)\b|https?://", DOCKERFILE.read_text("utf-8").replace("http://127", ""))


def test_everything_that_is_copied_exists_and_is_not_left_out() -> None:
    kept = [line[1:] for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if line.startswith("!")]
    copied = [part for line in arguments("COPY") if "--from" not in line for part in line.split()[:-1]]
    assert {"src", "constraints/server.txt"} <= set(copied)
    for path in copied:
        assert (ROOT / path).exists(), path
        assert any(fnmatch(path, pattern) for pattern in kept), f"{path} is left out by .dockerignore"


def test_no_image_is_the_newest_one_whatever_that_is() -> None:
    images = [*arguments("FROM"), DATABASE["image"]]
    for image in images:
        assert ":" in image and "latest" not in image, image


def test_the_health_check_tells_a_server_that_is_ready_from_one_that_is_not(tmp_path: Path) -> None:
    [check] = arguments("HEALTHCHECK")
    command = json.loads(check.partition("CMD ")[2])
    [serve] = arguments("CMD")
    port = json.loads(serve)[json.loads(serve).index("--port") + 1]
    assert arguments("EXPOSE") == [port] and f":{port}/" in command[2]

    def healthy(at: int) -> bool:
        program = [sys.executable, *(part.replace(f":{port}/", f":{at}/") for part in command[1:])]
        return subprocess.run(program, capture_output=True, timeout=60, check=False).returncode == 0

    with serving(tmp_path / "agent.db") as server:
        assert healthy(server.port)
    assert not healthy(server.port)


def test_the_container_can_write_nothing_but_its_volume_and_has_no_rights_to_gain() -> None:
    assert SERVER["read_only"] is True
    assert SERVER["cap_drop"] == ["ALL"] and "no-new-privileges:true" in SERVER["security_opt"]
    [volume] = arguments("VOLUME")
    assert [mount.partition(":")[2] for mount in SERVER["volumes"]] == [volume]
    assert not {"privileged", "cap_add", "network_mode", "pid"} & {*SERVER, *DATABASE}


def test_only_this_machine_reaches_the_server_and_nobody_the_database() -> None:
    assert all(port.startswith("127.0.0.1:") for port in SERVER["ports"])
    assert "ports" not in DATABASE


def test_the_server_waits_for_a_database_that_answers_and_both_share_one_password() -> None:
    assert SERVER["depends_on"] == {"database": {"condition": "service_healthy"}}
    assert DATABASE["healthcheck"]["test"][1] == "pg_isready"
    password = DATABASE["environment"]["POSTGRES_PASSWORD"]
    assert password == SERVER["environment"]["PGPASSWORD"] and re.fullmatch(r"\$\{\w+:\?[^}]+\}", password)
    address = SERVER["environment"]["WELLKEPT_DB"]
    assert address == "postgresql://{POSTGRES_USER}@database/{POSTGRES_DB}".format(**DATABASE["environment"])


def test_every_volume_is_declared_and_the_build_is_that_of_the_dockerfile() -> None:
    named = {mount.partition(":")[0] for one in (SERVER, DATABASE) for mount in one["volumes"]}
    assert named == set(COMPOSE["volumes"])
    build = SERVER["build"]
    assert (ROOT / "deploy" / build["context"]).resolve() == ROOT
    assert (ROOT / build["dockerfile"]).resolve() == DOCKERFILE


@pytest.mark.parametrize("text", ["compose.yaml", "Dockerfile", "alerts.yaml", "grafana.json"])
def test_no_file_holds_a_secret(text: str) -> None:
    told = (ROOT / "deploy" / text).read_text("utf-8")
    assert not re.search(r"wk_\w{8}|(?i:password|secret|token)\s*[:=]\s*['\"]?[a-z0-9]{6,}", told)
