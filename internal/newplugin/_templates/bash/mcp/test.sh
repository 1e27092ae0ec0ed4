#!/usr/bin/env bash
# Tests of my-plugin: each sends lines, and checks that its answers contain a text.
@check.bash@
check "initialize returns its name" '"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"my-plugin"' \
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}'
check "it lists its tool" '"name": "count"' \
    '{"jsonrpc":"2.0","id":2,"method":"tools/list"}'
check "count counts" '"text":"words: 6, lines: 1, characters: 18"}],"isError":false' \
    '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"count","arguments":{"text":"to be or not to be"}}}'
check "count needs a text" '"isError":true' \
    '{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"count","arguments":{}}}'
check "it continues after a line that is not JSON" '"id":5,"result":{}' \
    'no JSON' '{"jsonrpc":"2.0","id":5,"method":"ping"}'
exit $failed
