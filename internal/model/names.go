package model

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

const (
	// maxName is the longest tool name that all providers accept: OpenAI's 64.
	maxName = 64
	// maxID is the longest id of a tool call that OpenAI accepts.
	maxID = 40
)

// toolNames maps the tools of one request to names that providers accept. These have only letters,
// digits, _ and -, while ours may have dots (plugin.tool) and be longer. A valid name stays;
// git.log becomes git_log, or git_log_4f1d… if another tool has that name.
type toolNames struct {
	sent map[string]string // by our name: the name in requests
	own  map[string]string // by the name in requests: our name
}

// nameTools names all tools of a request: the offered ones, and those in the conversation, which
// may no longer exist.
func nameTools(req *Request) toolNames {
	n := toolNames{sent: make(map[string]string), own: make(map[string]string)}
	var odd []string
	each := func(name string) {
		switch _, known := n.sent[name]; {
		case known:
		case name != "" && legal(name, maxName) == name:
			n.set(name, name) // before another tool can take the name
		default:
			odd = append(odd, name)
		}
	}
	for _, t := range req.Tools {
		each(t.Name)
	}
	for _, m := range req.Messages {
		for _, c := range m.ToolCalls {
			each(c.Name)
		}
	}
	for _, name := range odd {
		n.add(name)
	}
	return n
}

func (n toolNames) add(name string) {
	if _, known := n.sent[name]; known {
		return
	}
	sent := legal(name, maxName)
	for salt := 0; ; salt++ {
		if _, taken := n.own[sent]; !taken {
			break
		}
		sent = hashed(sent, name+strings.Repeat("\x00", salt), maxName)
	}
	n.set(name, sent)
}

func (n toolNames) set(name, sent string) {
	n.sent[name] = sent
	n.own[sent] = name
}

// ours returns our name of a tool that the model called. An invented name stays: running the call
// then fails, because there is no such tool.
func (n toolNames) ours(sent string) string {
	if name, ok := n.own[sent]; ok {
		return name
	}
	return cut(sent)
}

// legal returns s with _ in place of characters that providers refuse, shortened to limit.
func legal(s string, limit int) string {
	out := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || '0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z' {
			return r
		}
		return '_'
	}, s)
	switch {
	case out == "":
		return "_"
	case len(out) > limit:
		return hashed(out, s, limit)
	}
	return out
}

// hashed returns the beginning of s and a hash of another text, together within limit.
func hashed(s, of string, limit int) string {
	sum := sha256.Sum256([]byte(of))
	end := "_" + hex.EncodeToString(sum[:4])
	return s[:min(len(s), limit-len(end))] + end
}

// callIDs holds the ids of tool calls, which must be unique in a conversation. Some servers send
// none, or begin with call_0 in every reply.
type callIDs map[string]bool

// fresh returns id, or a new one if id is taken or "".
func (ids callIDs) fresh(id string) string {
	for n := len(ids) + 1; id == "" || ids[id]; n++ {
		id = "call_" + strconv.Itoa(n)
	}
	ids[id] = true
	return id
}
