"""Hides passwords, tokens and private keys in tool results from the model.

A python plugin. It searches the results of tools, such as a `.env` file or the
output of `env`, for secrets before the model and its provider see them. Below the
answer it says how many it has hidden. Install and try it:

    mkdir -p ~/.agent/plugins
    cp keep_secrets.py ~/.agent/plugins/
    patchbay fire tool.after --trace --data \\
        '{"tool":"read_file","call_id":"1","arguments":{},"result":"password = swordfish","success":true}'
    patchbay chat -p 'what is configured in .env?'

It recognises secrets by their form, so it misses some, and sometimes hides a word
that is not a secret. If it fails, the result stays as it was, as with every python
plugin, unless config.toml says otherwise:

    [plugins.keep_secrets]
    on_failure = "deny"
"""

import dataclasses
import re

__plugin__ = {"api": "1.0", "name": "keep_secrets"}

HIDDEN = "[hidden]"

# The text before a secret is kept, so that the model knows what is there. Every
# pattern is quick on any text, because a handler that takes too long protects nothing.
SECRETS = [
    # password = …, "api_key": "…", DB_TOKEN=…; but not `token: str`, which is code.
    re.compile(
        r"""(?ix)
        ( [\w.-]{0,40} (?: passw(?:or)?d | passphrase | secret | token | (?: api | access | private )[_-]?key )
          ["']? [ \t]* [:=] [ \t]* ["']? )
        (?! (?: str | string | bytes | bool | none | null | nil | true | false ) \b )
        (?: (?<=") [^"\n]+ | (?<=') [^'\n]+ | [^\s"',;]+ )"""
    ),
    # Authorization: Bearer …
    re.compile(r"""(?i)(authorization["']?[ \t]*[:=][ \t]*["']?(?:basic|bearer|token)[ \t]+)[^\s"']+"""),
    # https://user:password@host
    re.compile(r"(\w://[^\s/:@]*:)[^\s/@]+(?=@)"),
    # A whole private key.
    re.compile(r"(-----BEGIN [A-Z ]*PRIVATE KEY-----).*?(?=-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL),
]


def hide(text):
    """Returns the text without its secrets, and how many it had."""
    count = 0
    for pattern in SECRETS:
        text, found = pattern.subn(lambda match: match.group(1) + HIDDEN, text)
        count += found
    return text, count


@on_begin
async def start(ctx):
    ctx.state["keep_secrets"] = 0


@on_tool_result
async def keep(ctx, call, result):
    output, count = hide(result.output)
    error, more = hide(result.error or "")
    if count + more == 0:
        return None
    ctx.state["keep_secrets"] = ctx.state.get("keep_secrets", 0) + count + more
    return dataclasses.replace(result, output=output, error=error or None)


@on_final
async def tell(ctx, text):
    count = ctx.state.get("keep_secrets", 0)
    if count == 0:
        return None
    return f"{text}\n\n({count} {'secret was' if count == 1 else 'secrets were'} kept from the model.)"
