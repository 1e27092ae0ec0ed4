#!/usr/bin/env bash
# Tests of my-plugin: each starts it with one call, and checks that its answer contains a text.
@check.bash@
call() { # ARGS
    echo '{"protocol_version":"1.0.0","type":"hook","stage":"preexec","mode":"transform","context":{"command":"git","args":'"$1"',"flags":{},"result":null,"timestamp":"2026-01-15T10:30:00Z"}}'
}

check "a forced push gets --force-with-lease" '{"command":"git","args":["push","--force-with-lease","origin"],"flags":{},"result":null,"timestamp":' \
    "$(call '["push","--force","origin"]')"
check "-f gets it too" '"args":["push","--force-with-lease"]' "$(call '["push","-f"]')"
same "another command is not changed" '[]' "[$(call '["status","--force"]' | ./my-plugin)]"
check "health is ok" '{"status":"ok"}' '{"protocol_version":"1.0.0","type":"lifecycle","event":"health"}'
same "another protocol is refused" UNSUPPORTED_PROTOCOL "$(echo '{"protocol_version":"2.0.0","type":"hook"}' | ./my-plugin 2>&1)"
exit $failed
