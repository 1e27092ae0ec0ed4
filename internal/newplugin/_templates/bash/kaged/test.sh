#!/usr/bin/env bash
# Tests of my-plugin: each sends lines, some of them answers of the host, and checks that its output
# contains a text.
@check.bash@
value() { echo '{"jsonrpc":"2.0","id":"ask-1","result":{"value":'"$1}}"; }

check "initialize returns its name" '"name":"my-plugin","version":"0.1.0","api_version":1' \
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"api_version":1,"config":{}}}'
check "add adds a note after the others" '"method":"kaged.storage.put","params":{"key":"notes","value":["tea","milk"]}' \
    '{"jsonrpc":"2.0","id":2,"method":"my-plugin.add","params":{"text":"milk"}}' "$(value '["tea"]')"
check "add needs a text" '"id":3,"error":{"code":-32602' \
    '{"jsonrpc":"2.0","id":3,"method":"my-plugin.add","params":{}}'
check "list returns the notes" '"id":4,"result":["tea"]' \
    '{"jsonrpc":"2.0","id":4,"method":"my-plugin.list","params":{}}' "$(value '["tea"]')"
check "a session starts with the notes" '"inject":"Notes from earlier:\n- tea"' \
    '{"jsonrpc":"2.0","id":5,"method":"kaged.hook.on_session_start","params":{"session_id":"s"}}' "$(value '["tea"]')"
check "a request that comes meanwhile is answered" '"id":7,"result":{"ok":true}' \
    '{"jsonrpc":"2.0","id":6,"method":"my-plugin.list","params":{}}' \
    '{"jsonrpc":"2.0","id":7,"method":"health.check","params":{}}' "$(value null)"
check "a request that cannot be served is an error" '"id":8,"error":{"code":-32000' \
    '{"jsonrpc":"2.0","id":8,"method":"my-plugin.list","params":{}}' '{"jsonrpc":"2.0","id":"ask-1","error":{"code":-32001,"message":"no"}}'
exit $failed
