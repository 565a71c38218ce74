"""`python -m wellkept.cli` is `wellkept`."""

import sys

from wellkept.cli import main

sys.exit(main())
