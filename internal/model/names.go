package model

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

const (
	// maxName is the longest name of a tool that all providers take: OpenAI's 64.
	maxName = 64
	// maxID is the longest id of a tool call that OpenAI takes.
	maxID = 40
)

// toolNames are the tools of one request under names that providers take. Theirs are of letters,
// digits, _ and -, ours may have dots (plugin.tool) and be longer. A name that is good as it is
// stays; git.log becomes git_log, or git_log_4f1d… where that is another tool's.
type toolNames struct {
	sent map[string]string // by our name
	own  map[string]string // by the name on the sent
}

// nameTools names all tools that a request speaks of: those on offer and those in the conversation,
// which may be gone by now.
func nameTools(req *Request) toolNames {
	n := toolNames{sent: make(map[string]string), own: make(map[string]string)}
	var odd []string
	each := func(name string) {
		switch _, known := n.sent[name]; {
		case known:
		case name != "" && legal(name, maxName) == name:
			n.set(name, name) // before any other can take it
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

// ours is what we call a tool that the model named. A tool that it made up keeps its name: whoever
// runs the call will say that there is none.
func (n toolNames) ours(sent string) string {
	if name, ok := n.own[sent]; ok {
		return name
	}
	return cut(sent)
}

// legal is s with _ in place of what providers refuse, and no longer than limit.
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

// hashed is s with a hash of of at its end, within limit.
func hashed(s, of string, limit int) string {
	sum := sha256.Sum256([]byte(of))
	end := "_" + hex.EncodeToString(sum[:4])
	return s[:min(len(s), limit-len(end))] + end
}

// callIDs are the ids of tool calls: unique in a conversation, whatever servers and transcripts
// say. Some servers send none, or begin with call_0 in every reply.
type callIDs map[string]bool

// fresh is id, or another one where id is taken or "".
func (ids callIDs) fresh(id string) string {
	for n := len(ids) + 1; id == "" || ids[id]; n++ {
		id = "call_" + strconv.Itoa(n)
	}
	ids[id] = true
	return id
}
