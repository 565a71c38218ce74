"""Long work behind a form: it runs in a thread, and the page shows how far it is."""

from __future__ import annotations

import threading
from collections.abc import Callable

from starlette.responses import RedirectResponse, Response

from wellkept.errors import NotFound
from wellkept.server.page.frame import Visit
from wellkept.server.page.jobs import Job, Shown, Tell

_PATIENCE = 0.4
"""Seconds that a form waits for its result; what takes longer gets a page that shows the progress."""


def start(visit: Visit, title: str, act: Callable[[Tell], Shown]) -> Response:
    """Do long work; answer with its result, or with the address of the page that shows its progress."""
    job = Job(title, owner(visit))
    name = visit.frame.jobs.begin(job)
    threading.Thread(target=job.run, args=(act,), name="page-work", daemon=True).start()
    if job.ended.wait(_PATIENCE):
        return _result(visit, job)
    return RedirectResponse(visit.at(f"work/{name}"), status_code=303)


def show(visit: Visit) -> Response:
    """How far a job is, or its result; a script that asks how far it is loads the page anew for the result."""
    asks_again = "hx-request" in visit.request.headers
    try:
        job = visit.frame.jobs.of(str(visit.request.path_params["job"]), owner(visit))
    except NotFound:
        if asks_again:
            return Response(headers={"HX-Refresh": "true"})  # the page that is loaded anew says that it is gone
        raise
    if job.ended.is_set():
        return Response(headers={"HX-Refresh": "true"}) if asks_again else _result(visit, job)
    return visit.show("work.html", room="health", job=job)


def _result(visit: Visit, job: Job) -> Response:
    if job.error is not None:
        raise job.error
    if job.shown is None:
        raise RuntimeError(f"{job.title} broke; the reason is in the log of the server")
    return job.shown(visit)


def owner(visit: Visit) -> tuple[str, str]:
    """Who sees the jobs that this visit begins."""
    return visit.session, visit.namespace
