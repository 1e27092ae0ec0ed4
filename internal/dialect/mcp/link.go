package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/patchbay-dev/patchbay/internal/mcpcall"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// An era is one of the two kinds of the protocol.
type era int

const (
	handshake era = iota // sessions, opened with initialize
	modern               // no sessions: each request is complete
)

// A carrier transports messages to a server and back, over pipes or over HTTP.
type carrier interface {
	// send makes a request and waits for its result. Notifications and requests of the server go to
	// the link's owner meanwhile.
	send(ctx context.Context, method string, params json.RawMessage, c *pending) (json.RawMessage, error)
	notify(ctx context.Context, method string, params json.RawMessage) error
}

// A link is one connection to a server.
type link struct {
	carrier
	era     era
	version string // the version that both sides agreed on
	welcome welcome
	owner   *plugin

	mu    sync.Mutex          // protects the fields below
	calls map[string]*pending // calls under way, by their progress tokens
	last  uint64
}

// A pending is a call that is under way.
type pending struct {
	token  string
	caller *mcpcall.Caller // nil: not for an MCP client
	wanted json.RawMessage // the client's own token; nil: it wants no progress
}

// call sends a request to the server, on behalf of the client in ctx.
func (l *link) call(ctx context.Context, method string, params rawjson.Object) (json.RawMessage, error) {
	c := l.begin(ctx)
	defer l.end(c)
	return l.send(ctx, method, l.completeParams(params, c).JSON(), c)
}

func (l *link) begin(ctx context.Context) *pending {
	c := &pending{caller: mcpcall.From(ctx)}
	if c.caller != nil && c.caller.Progress != nil {
		if meta, err := rawjson.Parse(c.caller.Meta); err == nil {
			c.wanted = meta.Get(mcpcall.MetaProgress)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	c.token = fmt.Sprintf("pb-%d", l.last)
	if l.calls == nil {
		l.calls = make(map[string]*pending)
	}
	l.calls[c.token] = c
	return c
}

func (l *link) end(c *pending) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.calls, c.token)
}

// under returns the call with a token, or all calls under way if the token is empty.
func (l *link) under(token string) []*pending {
	l.mu.Lock()
	defer l.mu.Unlock()
	if token != "" {
		if c := l.calls[token]; c != nil {
			return []*pending{c}
		}
		return nil
	}
	var all []*pending
	for _, c := range l.calls {
		all = append(all, c)
	}
	return all
}

// completeParams adds what the protocol requires to params: what the client said about itself, and
// our own progress token.
func (l *link) completeParams(params rawjson.Object, c *pending) rawjson.Object {
	var meta rawjson.Object
	if c.caller != nil {
		if given, err := rawjson.Parse(c.caller.Meta); err == nil {
			meta = given
		}
		if c.caller.Inputs != nil {
			params = params.With(field("inputResponses", c.caller.Inputs))
		}
		if c.caller.State != "" {
			params = params.With(field("requestState", rawjson.String(c.caller.State)))
		}
	}
	meta = without(meta, mcpcall.MetaProgress)
	if c.wanted != nil {
		meta = meta.With(field(mcpcall.MetaProgress, rawjson.String(c.token)))
	}
	meta = l.self(meta, c.caller)
	if len(meta) == 0 {
		return params
	}
	return params.With(field("_meta", meta.JSON()))
}

// self adds the fields of _meta in which a modern request describes its client. If the server is of
// the handshake kind, self removes these fields.
func (l *link) self(meta rawjson.Object, caller *mcpcall.Caller) rawjson.Object {
	own := []string{mcpcall.MetaVersion, mcpcall.MetaClient, mcpcall.MetaCapabilities, mcpcall.MetaLogLevel}
	if l.era == handshake {
		return without(meta, own...)
	}
	capabilities := json.RawMessage("{}")
	if caller != nil && caller.Capabilities != nil {
		capabilities = caller.Capabilities
	}
	if meta.Get(mcpcall.MetaClient) == nil {
		meta = meta.With(field(mcpcall.MetaClient, l.owner.clientInfo()))
	}
	if caller != nil && !caller.Modern && caller.Log != nil {
		meta = meta.With(field(mcpcall.MetaLogLevel, json.RawMessage(`"debug"`))) // the client's session filters by the level that it wants
	}
	return meta.With(field(mcpcall.MetaVersion, rawjson.String(l.version)), field(mcpcall.MetaCapabilities, capabilities))
}

func field(name string, value json.RawMessage) rawjson.Field {
	return rawjson.Field{Name: name, Value: value}
}

// without returns an object without some fields.
func without(o rawjson.Object, names ...string) rawjson.Object {
	out := make(rawjson.Object, 0, len(o))
	for _, f := range o {
		keep := true
		for _, name := range names {
			keep = keep && f.Name != name
		}
		if keep {
			out = append(out, f)
		}
	}
	return out
}
