#!/usr/bin/env python3
"""my-plugin is a mine plugin: it turns `git push --force` into `git push --force-with-lease`, which never overwrites
commits that you have not fetched.

mine-plugin.toml declares its hooks: after a change, run `./my-plugin.py manifest mine >mine-plugin.toml`.
"""
from patchbay_plugin import CommandEvent, Modify, Plugin

p = Plugin("my-plugin", "0.1.0", "Turns git push --force into --force-with-lease", author="you")


@p.on("command.before", only="git")
def lease(e: CommandEvent):
    """Called before git runs: it changes the arguments. Deny("…") would refuse the command."""
    if e.args[:1] != ["push"]:
        return None
    e.args = ["--force-with-lease" if arg in ("--force", "-f") else arg for arg in e.args]
    return Modify()


if __name__ == "__main__":
    p.main()
