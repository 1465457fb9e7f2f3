"""`python -m trncomm` is the `trncomm` command."""

import sys

from trncomm.cli import main

if __name__ == "__main__":
    sys.exit(main())
