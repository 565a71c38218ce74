"""`wellkept open`: the page in the browser of whoever runs it, until it is stopped."""

from __future__ import annotations

import sys
import threading

from wellkept.cli.serving.serve_command import require_extra
from wellkept.cli.terminal.groups import flag, option
from wellkept.cli.terminal.session import Session


def open_page(
    run: Session,
    *,
    port: int = option(default=0, min=0, max=65_535, help="Port; 0 = any free port."),
    no_browser: bool = flag("--no-browser", help="Only print the link."),
) -> None:
    """Open the page of the store in the browser: what it believes, why, what changed, and what waits for you.

    It listens on this machine only, and asks for a link that works once. Stops on Ctrl-C.
    """
    require_extra()
    from wellkept.operations.queued_writes import recovered
    from wellkept.server.access.owner import OwnerToken
    from wellkept.server.page.sessions import Sessions
    from wellkept.server.serving.assembly import assembled
    from wellkept.server.serving.listening import address_of, listen
    from wellkept.server.serving.private_logging import wordless
    from wellkept.server.serving.process import Ending, Process

    with listen("127.0.0.1", port) as bound, wordless():
        owner, sessions = OwnerToken(run.settings.actor or "owner"), Sessions()
        store = recovered(run.store())
        link = f"{address_of(bound)}/page/enter?code={sessions.invite(owner.secret)}"

        def listening() -> None:
            run.show({"link": link}, lambda: [f"The page is at {link} (works once, within two minutes)"])
            sys.stdout.flush()
            if not no_browser:
                import webbrowser

                # A browser in the terminal runs until it is left, and meanwhile the server must answer.
                threading.Thread(target=webbrowser.open, args=(link,), daemon=True).start()

        whole = assembled(store, tokens=owner, sessions=sessions, rate=None)
        server = Process(whole.app, ending=Ending(drain=0.0), drain=whole.drain, listening=listening)
        server.run(sockets=[bound])
    run.note("Stopped")
