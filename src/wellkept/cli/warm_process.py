"""`python -m wellkept.cli.warm_process MINUTES` is the daemon; `wellkept daemon start` starts it."""

import os
import sys

sys.path[:] = [os.path.abspath(folder) for folder in sys.path]  # it changes folders

from wellkept.cli.daemon.request import Ending  # noqa: E402

ENDING = Ending()  # before anything else that is run at the end

from wellkept.cli import main as run  # noqa: E402
from wellkept.cli.daemon.process import main  # noqa: E402

sys.exit(main(sys.argv[1:], run, ENDING))
