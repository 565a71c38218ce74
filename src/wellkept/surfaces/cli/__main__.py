"""`python -m wellkept.surfaces.cli` is `wellkept`."""

import sys

from wellkept.surfaces.cli import main

sys.exit(main())
