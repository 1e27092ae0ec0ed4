#!/usr/bin/env bash
# Tests of my-plugin: each starts it with a verb, and checks that its answer contains a text.
@check.bash@
plugin=./dotagent-plugin-my-plugin
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

same "info names its kind" '"kinds": ["sink"]' "$($plugin info)"
same "a config with a path is fine" '{"ok":true}' "$(echo '{"path":"~/notes.md"}' | $plugin validate)"
same "a directory is refused" 'is a directory' "$(echo '{"path":"/"}' | $plugin validate)"
same "a config without a path is refused" '"ok":false' "$(echo '{}' | $plugin validate)"
same "a message is stored" '{"ok":true' \
    "$(echo '{"kind":"sink","agent":"a","schedule":"daily","event":"success","message":"one\ntwo\n","config":{"path":"'"$dir"'/new/kept.md"}}' | $plugin invoke)"
same "with a heading" '## a/daily, ' "$(cat "$dir/new/kept.md")"
same "and its lines" $'one\ntwo' "$(cat "$dir/new/kept.md")"
exit $failed
