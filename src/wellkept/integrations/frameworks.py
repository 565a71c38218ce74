"""Which versions of a framework an integration is known to work with."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import metadata

from wellkept.errors import FrameworkUnavailable
from wellkept.frozen import frozen

_NUMBER = re.compile(r"\d{1,9}")


@frozen
class Framework:
    """A framework that an integration needs.

    Attributes:
        distribution: The name it is installed by.
        least: The first version that is known to work.
        below: The first version that is not known to work.
        extra: The extra of Wellkept that brings it; empty if none does.
    """

    distribution: str
    least: tuple[int, ...]
    below: tuple[int, ...]
    extra: str = ""

    @property
    def versions(self) -> str:
        """The versions that are known to work, as an installer reads them."""
        return f"{self.distribution}>={_dotted(self.least)},<{_dotted(self.below)}"


FRAMEWORKS: Mapping[str, Framework] = {
    "adk": Framework("google-adk", (2, 0), (3,), "adk"),
    "agent_framework": Framework("agent-framework-core", (1, 0), (2,), "agent-framework"),
    "anthropic": Framework("anthropic", (2, 10), (3,), "anthropic"),
    "crewai": Framework("crewai", (1, 15), (2,), "crewai"),
    "langchain": Framework("langchain-core", (1, 4), (2,), "langchain"),
    "langgraph": Framework("langgraph-checkpoint", (4, 0), (5,), "langgraph"),
    "llamaindex": Framework("llama-index-core", (0, 14), (0, 15), "llamaindex"),
    "openai_agents": Framework("openai-agents", (0, 22), (1,), "openai-agents"),
    "opentelemetry": Framework("opentelemetry-exporter-otlp-proto-http", (1, 30), (2,), "otel"),
    "pydantic_ai": Framework("pydantic-ai-slim", (2, 32), (3,), "pydantic-ai"),
    "strands": Framework("strands-agents", (1, 50), (2,), "strands"),
}
"""By the name of the integration."""


def need(name: str) -> None:
    """Say what is missing before a framework is imported.

    Raises:
        FrameworkUnavailable: It is not installed, or its version is not known to work; names the versions that are.

    Example:
        >>> FRAMEWORKS["langgraph"].versions
        'langgraph-checkpoint>=4.0,<5'
    """
    framework = FRAMEWORKS[name]
    install = f'"wellkept[{framework.extra}]"' if framework.extra else f'"{framework.versions}"'
    try:
        found = metadata.version(framework.distribution)
    except metadata.PackageNotFoundError:
        what = f"{framework.distribution!r} is not installed"
        raise FrameworkUnavailable(what, where=f"wellkept.integrations.{name}", todo=f"Install {install}") from None
    if not framework.least <= _parts(found) < framework.below:
        raise FrameworkUnavailable(
            f"{framework.distribution} {found} is not known to work",
            where=f"wellkept.integrations.{name}",
            todo=f'Install "{framework.versions}"',
        )


def _parts(version: str) -> tuple[int, ...]:
    """The numbers of a version; what follows a number in the same part, such as `rc1`, does not count."""
    numbers = [_NUMBER.match(part) for part in version.split(".")]
    return tuple(int(number[0]) for number in numbers if number)


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
