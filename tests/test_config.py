"""Settings: precedence of their sources, and errors for every invalid file, key and value."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from wellkept.config import KEYS, Settings, auto_calibrate, default_db, load, personal_file, store_file
from wellkept.errors import ConfigError, InvalidPolicy

PROJECT, PYPROJECT, PERSONAL = "wellkept.toml", "pyproject.toml", "personal"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project's folder, with the user's own files kept apart from anybody's."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    project = tmp_path / "project"
    project.mkdir()
    return project


def write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        file = personal_file() if name == PERSONAL else folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def settings(folder: Path, flags: Mapping[str, str | None] | None = None, **environ: str) -> Settings:
    return load(flags, environ=environ, folder=folder)


def test_without_any_word_the_defaults_hold(folder: Path) -> None:
    found = settings(folder)
    assert found.db == str(default_db())
    assert (found.namespace, found.embedder, found.actor, found.durability) == ("default", "auto", "", "full")
    assert found.policy.hash == Settings(db="x").policy.hash
    assert set(found.origins.values()) == {"default"}
    assert not default_db().parent.exists(), "reading settings makes nothing"


FLAG = {"namespace": "flag"}
ENV = {"WELLKEPT_NAMESPACE": "env"}
FILES = {
    PROJECT: 'namespace = "project"',
    PYPROJECT: '[tool.wellkept]\nnamespace = "pyproject"',
    PERSONAL: 'namespace = "personal"',
}


@pytest.mark.parametrize(
    ("flags", "environ", "files", "winner", "origin"),
    [
        (FLAG, ENV, (PROJECT, PERSONAL), "flag", "flag"),
        ({}, ENV, (PROJECT, PERSONAL), "env", "environment"),
        ({"namespace": None}, ENV, (), "env", "environment"),
        ({}, {}, (PROJECT, PYPROJECT, PERSONAL), "project", "wellkept.toml"),
        ({}, {}, (PYPROJECT, PERSONAL), "pyproject", "pyproject.toml [tool.wellkept]"),
        ({}, {}, (PERSONAL,), "personal", "config.toml"),
        ({}, {"WELLKEPT_NAMESPACE": ""}, (PERSONAL,), "personal", "config.toml"),
        ({}, {}, (), "default", "default"),
    ],
)
def test_what_is_said_nearer_to_the_call_wins(
    folder: Path,
    flags: dict[str, str | None],
    environ: dict[str, str],
    files: tuple[str, ...],
    winner: str,
    origin: str,
) -> None:
    write(folder, {name: FILES[name] for name in files})
    found = settings(folder, flags, **environ)
    assert found.namespace == winner
    assert found.origins["namespace"].endswith(origin)


@pytest.mark.parametrize("key", [key for key in KEYS if key != "policy"])
def test_every_setting_may_stand_in_every_place(folder: Path, key: str) -> None:
    value = "relaxed" if key == "durability" else "/tmp/value" if key == "db" else "value"
    assert getattr(settings(folder, {key: value}), key) == value
    assert getattr(settings(folder, **{f"WELLKEPT_{key.upper()}": value}), key) == value
    write(folder, {PROJECT: f'{key} = "{value}"'})
    assert getattr(settings(folder), key) == value


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("agent.db", "{folder}/agent.db"),
        ("sub/agent.db", "{folder}/sub/agent.db"),
        ("/var/agent.db", "/var/agent.db"),
        ("memory:", "memory:"),
        ("sqlite:///agent.db", "sqlite:///agent.db"),
    ],
)
def test_a_path_in_a_file_is_relative_to_the_file(folder: Path, said: str, meant: str) -> None:
    write(folder, {PROJECT: f'db = "{said}"'})
    assert settings(folder).db == meant.format(folder=folder)
    assert settings(folder, {"db": "x.db"}).db == "x.db"


@pytest.mark.parametrize(
    ("db", "file"),
    [
        ("agent.db", "agent.db"),
        ("sqlite:///agent.db", "agent.db"),
        ("sqlite:////var/agent.db", "/var/agent.db"),
        ("memory:", None),
        ("redis://here", None),
    ],
)
def test_the_file_behind_an_address(db: str, file: str | None) -> None:
    assert store_file(db) == (None if file is None else Path(file))


# ---- policies ----

RECIPE = '[kinds.recipe]\npreset = "knowledge"\n'


@pytest.mark.parametrize(
    "files",
    [
        {PROJECT: RECIPE},
        {PROJECT: '[policy.kinds.recipe]\npreset = "knowledge"\n'},
        {PROJECT: 'policy = "policy.toml"\n', "policy.toml": RECIPE},
        {PYPROJECT: '[tool.wellkept.kinds.recipe]\npreset = "knowledge"\n'},
        {PERSONAL: RECIPE},
    ],
)
def test_a_policy_may_be_a_file_of_its_own_or_stand_inline(folder: Path, files: dict[str, str]) -> None:
    write(folder, files)
    assert settings(folder).policy.for_kind("recipe").preset == "knowledge"


def test_an_inline_policy_means_what_the_same_policy_in_a_file_means(folder: Path) -> None:
    rich = (
        'max_content_chars = 500\nconflict_days = 3.5\nantonyms = [["強気", "弱気"], ["über", "unter"]]\n'
        '[kinds.recipe]\npreset = "general"\nscope = ["kind", "tags"]\n'
        'bands = [{at = 0.9, outcome = "link"}, {at = 0.5, outcome = "evolve", inclusive = false}]\n'
        "[kinds.recipe.decay]\nstability_days = 7\n[kinds.'odd \"name\"']\npreset = 'fact'\n"
    )
    write(folder, {PROJECT: rich, "p.toml": rich})
    inline = settings(folder)
    named = settings(folder, {"policy": str(folder / "p.toml")})
    assert inline.policy.hash == named.policy.hash
    assert (inline.policy_file, named.policy_file) == ("", str(folder / "p.toml"))


def test_the_nearest_policy_holds_alone(folder: Path) -> None:
    write(
        folder, {PROJECT: RECIPE, PERSONAL: RECIPE.replace("recipe", "menu"), "p.toml": RECIPE.replace("recipe", "x")}
    )
    assert "menu" not in settings(folder).policy.kinds
    assert set(settings(folder, WELLKEPT_POLICY=str(folder / "p.toml")).policy.kinds) & {"x", "recipe"} == {"x"}


# ---- what is wrong ----

WRONG: list[tuple[dict[str, str], dict[str, str], tuple[str, ...]]] = [
    ({PROJECT: 'nam = "x"'}, {}, ("'nam'", "wellkept.toml", "namespace")),
    ({PYPROJECT: '[tool.wellkept]\nnam = "x"'}, {}, ("'nam'", "pyproject.toml [tool.wellkept]", "namespace")),
    ({PYPROJECT: "[tool]\nwellkept = 3"}, {}, ("table", "pyproject.toml")),
    ({PERSONAL: 'nam = "x"'}, {}, ("'nam'", "config.toml", "namespace")),
    ({PROJECT: "db = 3"}, {}, ("db must be text, not int", "wellkept.toml")),
    ({PROJECT: 'db = " "'}, {}, ("db is empty", "wellkept.toml")),
    ({PROJECT: 'durability = "some"'}, {}, ("'some'", "wellkept.toml", "full, relaxed")),
    ({PROJECT: "db = ["}, {}, ("not TOML", "wellkept.toml")),
    ({PROJECT: "db = " + "[" * 5000}, {}, ("not TOML", "200 levels", "wellkept.toml")),
    ({PROJECT: 'policy = "gone.toml"'}, {}, ("no such policy file", "gone.toml", "wellkept.toml")),
    ({PROJECT: 'policy = "p.toml"', "p.toml": "kinds = 3"}, {}, ("kinds", "p.toml")),
    ({PROJECT: 'policy = "p.toml"\n' + RECIPE, "p.toml": ""}, {}, ("kinds", "wellkept.toml", "remove `policy`")),
    ({PROJECT: "[kinds.a]\npreset='fact'\n[policy.kinds.b]\npreset='fact'"}, {}, ("kinds twice", "wellkept.toml")),
    ({PROJECT: "[kinds.recipe]\npreset = 'no'"}, {}, ("kinds.recipe.preset", "'no'", "wellkept.toml", "knowledge")),
    ({PROJECT: "max_content_chars = 0"}, {}, ("max_content_chars", "wellkept.toml")),
    ({PROJECT: "[policy]\ncolour = 1"}, {}, ("colour", "wellkept.toml", "conflict_days")),
    ({PROJECT: 'embedder_key = "sk"'}, {}, ("wellkept.toml", "WELLKEPT_EMBEDDER_KEY")),
    ({PROJECT: 'daemon = "auto"'}, {}, ("must not be set in a file", "WELLKEPT_DAEMON")),
    ({}, {"WELLKEPT_DAEMON": "yes"}, ("'yes'", "environment", "on, off, auto")),
    ({}, {"WELLKEPT_NAMESPCE": "x"}, ("WELLKEPT_NAMESPCE", "environment", "WELLKEPT_NAMESPACE")),
    ({}, {"WELLKEPT_DURABILITY": "some"}, ("'some'", "environment", "relaxed")),
]


@pytest.mark.parametrize(("files", "environ", "words"), WRONG)
def test_a_wrong_file_key_or_value_names_the_place_and_what_is_allowed(
    folder: Path, files: dict[str, str], environ: dict[str, str], words: tuple[str, ...]
) -> None:
    write(folder, files)
    with pytest.raises(ConfigError) as told:
        settings(folder, **environ)
    for word in words:
        assert word in str(told.value)


def test_an_inline_policy_names_no_line_of_a_text_nobody_wrote(folder: Path) -> None:
    write(folder, {PROJECT: '\n\nnamespace = "x"\nmax_content_chars = 0\n'})
    with pytest.raises(InvalidPolicy) as told:
        settings(folder)
    assert told.value.where == "wellkept.toml"


def test_a_file_that_cannot_be_read_is_an_error(folder: Path) -> None:
    (folder / PROJECT).mkdir()
    with pytest.raises(ConfigError, match="cannot be read"):
        settings(folder)
    (folder / PROJECT).rmdir()
    (folder / PROJECT).write_bytes(b'actor = "\xff"')
    with pytest.raises(ConfigError, match="not UTF-8"):
        settings(folder)


@pytest.mark.parametrize("text", ["[project]\nname = 'other'\n", "broken = [", "[tool.ruff]\nline-length = 3\n"])
def test_a_project_that_does_not_know_us_is_left_alone(folder: Path, text: str) -> None:
    write(folder, {PYPROJECT: text})
    assert settings(folder).files == ()


# ---- secrets ----


def test_a_key_is_taken_from_the_environment_and_never_shown(folder: Path) -> None:
    found = settings(folder, WELLKEPT_EMBEDDER_KEY="sk-secret")
    assert found.embedder_key == "sk-secret"
    assert "sk-secret" not in repr(found)


def test_a_key_is_not_sent_where_a_projects_file_says(folder: Path) -> None:
    # A cloned repository may hold any wellkept.toml.
    endpoint = "https://collector.example/v1/embeddings?model=m"
    write(folder, {PROJECT: f'embedder = "{endpoint}"'})
    with pytest.raises(ConfigError, match="gets no key"):
        settings(folder, WELLKEPT_EMBEDDER_KEY="sk-secret")
    assert settings(folder).embedder == endpoint
    own = settings(folder, WELLKEPT_EMBEDDER_KEY="sk-secret", WELLKEPT_EMBEDDER=endpoint)
    assert own.embedder_key == "sk-secret"


@pytest.mark.parametrize(
    ("environ", "files", "wanted", "origin"),
    [
        ({}, {}, True, "default"),
        ({"WELLKEPT_AUTO_CALIBRATE": "no"}, {PROJECT: "auto_calibrate = true"}, False, "environment"),
        ({"WELLKEPT_AUTO_CALIBRATE": ""}, {PROJECT: "auto_calibrate = false"}, False, PROJECT),
        ({}, {PROJECT: "auto_calibrate = true", PERSONAL: "auto_calibrate = false"}, True, PROJECT),
        ({}, {PERSONAL: "auto_calibrate = false"}, False, "config.toml"),
        ({"WELLKEPT_AUTO_CALIBRATE": "1"}, {PERSONAL: 'auto_calibrate = "off"'}, True, "environment"),
    ],
)
def test_the_switch_for_measuring_embedders_is_heard_by_program_and_library_alike(
    folder: Path, environ: dict[str, str], files: dict[str, str], wanted: object, origin: str
) -> None:
    """B-30."""
    write(folder, files)
    found = settings(folder, **environ)
    assert found.auto_calibrate is wanted
    assert found.origins["auto_calibrate"].endswith(origin)
    assert auto_calibrate(environ=environ, folder=folder) is wanted


@pytest.mark.parametrize("value", ['"perhaps"', "3", "[]"])
def test_a_switch_is_true_or_false(folder: Path, value: str) -> None:
    write(folder, {PROJECT: f"auto_calibrate = {value}"})
    with pytest.raises(ConfigError, match="auto_calibrate must be true or false"):
        settings(folder)
    with pytest.raises(ConfigError, match="auto_calibrate must be true or false"):
        auto_calibrate(environ={}, folder=folder)


# ---- times ----


@pytest.mark.parametrize(
    ("environ", "files", "wanted", "origin"),
    [
        ({}, {}, 300.0, "default"),
        ({}, {PROJECT: "flush_after = 60"}, 60.0, PROJECT),
        ({}, {PROJECT: "flush_after = 0.5"}, 0.5, PROJECT),
        ({"WELLKEPT_FLUSH_AFTER": "0"}, {PROJECT: "flush_after = 60"}, 0.0, "environment"),
        ({"WELLKEPT_FLUSH_AFTER": ""}, {PERSONAL: 'flush_after = "120"'}, 120.0, "config.toml"),
    ],
)
def test_after_how_long_a_server_writes_what_waits_is_said_as_any_other_setting(
    folder: Path, environ: dict[str, str], files: dict[str, str], wanted: float, origin: str
) -> None:
    """S0-45."""
    write(folder, files)
    found = settings(folder, **environ)
    assert found.flush_after == wanted
    assert found.origins["flush_after"].endswith(origin)


@pytest.mark.parametrize(
    "said", ["-1", '"soon"', "nan", "inf", "700000", '""', "true", "[]", "1" + "0" * 400, "0x" + "f" * 6000]
)
def test_a_time_that_is_none_is_refused_with_what_is_allowed(folder: Path, said: str) -> None:
    write(folder, {PROJECT: f"flush_after = {said}"})
    with pytest.raises(ConfigError, match="flush_after must be seconds, 0 to 604800"):
        settings(folder)
