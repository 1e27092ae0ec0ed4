#!/usr/bin/env bash
# Tests of my-plugin: each sends lines, and checks that its answers contain a text.
@check.bash@
check "initialize returns its manifest" '"name": "my-plugin"' \
    '{"jsonrpc":"2.0","method":"initialize","params":{"protocol_version":1},"id":1}'
check "count counts" '"result":"words: 6, lines: 1, characters: 18"' \
    '{"jsonrpc":"2.0","method":"tool/execute","params":{"name":"count","arguments":{"text":"to be or not to be"}},"id":2}'
check "count needs a text" '"success":false' \
    '{"jsonrpc":"2.0","method":"tool/execute","params":{"name":"count","arguments":{}},"id":3}'
check "the date is in the context" "\"dynamic_context\":\"before\\n\\n# Date\\nToday is $(date +%F).\"" \
    '{"jsonrpc":"2.0","method":"hook/context_enhance","params":{"user_message":"hi","dynamic_context":"before"},"id":4}'
check "an unknown method is an error" '"id":5,"error":{"code":-32601' \
    '{"jsonrpc":"2.0","method":"no/such","params":{},"id":5}'
check "it continues after a line that is not JSON" '"id":7,"result":{"ok":true}' \
    'no JSON' '{"jsonrpc":"2.0","method":"shutdown","params":{},"id":7}'
exit $failed
