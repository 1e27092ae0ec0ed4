package plugin

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Codes of JSON-RPC.
const (
	codeRequest  = -32600
	codeMethod   = -32601
	codeParams   = -32602
	codeFailed   = -32000
	codeTooLarge = -32001
)

// mostLine limits a message: kaged allows 4 MiB, scaffold 10 MB, and a picture for an MCP client
// may have more.
const mostLine = 16 << 20

type rpcError struct {
	code    int
	message string
}

func (e *rpcError) Error() string { return e.message }

func unknown(method []byte) error {
	return &rpcError{codeMethod, fmt.Sprintf("unknown method %.100q", method)}
}

// A message is one line of JSON-RPC. Its parts refer to the line.
type message struct {
	id, method, params, result, failure []byte
}

// parseMessage reads a line; ok is false if it is not JSON-RPC.
func parseMessage(line []byte) (m message, ok bool) {
	rpc := false
	err := members(line, func(name, value []byte) {
		switch string(name) {
		case "jsonrpc":
			rpc = true
		case "id":
			m.id = value
		case "method":
			m.method = value
		case "params":
			m.params = value
		case "result":
			m.result = value
		case "error":
			m.failure = value
		}
	})
	if err != nil || !rpc || m.id != nil && !validID(m.id) {
		return message{}, false
	}
	if n := len(m.method); n > 0 {
		if m.method[0] != '"' {
			return message{}, false
		}
		if m.method = m.method[1 : n-1]; bytes.IndexByte(m.method, '\\') >= 0 {
			m.method = []byte(plain(append(append([]byte{'"'}, m.method...), '"')))
		}
	}
	return m, true
}

// validID reports whether an id is valid in JSON-RPC. It is copied into the answer.
func validID(id []byte) bool {
	return id[0] != '{' && id[0] != '[' && json.Valid(id)
}

// clone returns a copy of the message that does not refer to its line, which is overwritten.
func (m message) clone() message {
	all := make([]byte, 0, len(m.id)+len(m.method)+len(m.params))
	part := func(from []byte) []byte {
		if from == nil {
			return nil
		}
		all = append(all, from...)
		return all[len(all)-len(from) : len(all) : len(all)]
	}
	return message{id: part(m.id), method: part(m.method), params: part(m.params)}
}
