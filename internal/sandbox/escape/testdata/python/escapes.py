"""Attempts to get out of the sandbox, one function each.

    python3 escapes.py list
    python3 escapes.py FILE/NAME KEY=VALUE…

The keys say where the canaries are; see targets in the Go test. One line on stdout is the result of the attempt:

    content TEXT   something was read; it counts if a canary's secret is in it
    did TEXT       something was changed; it counts if the change can be seen from outside
    claim TEXT     the kernel allowed it, which alone is an escape
    held REASON    nothing was achieved
    n/a REASON     the attempt does not apply to this user or machine
"""

import importlib
import sys

from registry import ESCAPES, Held, NotApplicable

# Every file registers its own attempts. Only the requested file is read, because there are hundreds of runs.
FILES = ("read", "write", "attributes", "pipes", "execution", "processes", "network", "families", "ipc", "namespaces", "privileges")


def attempt(name, target):
    try:
        return ESCAPES[name](target)
    except NotApplicable as reason:
        return f"n/a {reason}"
    except Held as reason:
        return f"held {reason}"
    except OSError as error:
        return f"held {error.strerror or error}"
    except Exception as error:  # a library may wrap the refusal in anything
        return f"held {type(error).__name__}: {error}"


def main(args):
    if args[0] == "list":
        for file in FILES:
            importlib.import_module(file)
        print("\n".join(ESCAPES))
        return
    importlib.import_module(args[0].split("/")[0])
    target = dict(pair.split("=", 1) for pair in args[1:])
    print(attempt(args[0], target).replace("\n", " ")[:2000], flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
