// Command byhand is the plugin of programs/sdk, written without the SDK: as an author would write
// it with encoding/json, for scaffold and for kaged.
package main

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
)

type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

type response struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

type countArgs struct {
	Text string `json:"text"`
}

type countResult struct {
	Words int `json:"words"`
}

func main() {
	lines := bufio.NewReaderSize(os.Stdin, 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var r request
		if err := json.Unmarshal(line, &r); err != nil || r.ID == nil {
			continue
		}
		reply := response{Version: "2.0", ID: r.ID}
		if reply.Result, err = answer(r.Method, r.Params); err != nil {
			reply.Error = &rpcError{-32000, err.Error()}
		}
		text, err := json.Marshal(reply)
		if err != nil {
			os.Exit(1)
		}
		if _, err := os.Stdout.Write(append(text, '\n')); err != nil {
			return
		}
	}
}

func answer(method string, params json.RawMessage) (any, error) {
	switch method {
	case "initialize":
		return map[string]any{"name": "bench", "version": "1.0.0", "api_version": 1, "hooks": []string{"post_user_input"}}, nil
	case "hook/post_user_input":
		var p struct {
			Message string `json:"message"`
		}
		if err := json.Unmarshal(params, &p); err != nil {
			return nil, err
		}
		return map[string]string{"action": "continue", "message": p.Message + "!"}, nil
	case "tool/execute":
		var p struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		}
		if err := json.Unmarshal(params, &p); err != nil {
			return nil, err
		}
		counted, err := count(p.Arguments)
		if err != nil {
			return nil, err
		}
		text, err := json.Marshal(counted)
		return map[string]any{"success": true, "result": string(text)}, err
	case "bench.count":
		return count(params)
	}
	return map[string]any{}, nil
}

func count(arguments json.RawMessage) (countResult, error) {
	var in countArgs
	err := json.Unmarshal(arguments, &in)
	return countResult{len(strings.Fields(in.Text))}, err
}
