package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/excerpt"
	"github.com/patchbay-dev/patchbay/internal/mcpcall"
	"github.com/patchbay-dev/patchbay/internal/wire"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// Error codes of JSON-RPC 2.0.
const (
	codeNoMethod  = -32601
	codeBadParams = -32602
	codeInternal  = -32603
)

// receiveNotification handles a notification of the server. c is the call to which the notification
// belongs; nil if the carrier does not know the call.
func (p *plugin) receiveNotification(l *link, method string, params json.RawMessage, c *pending) {
	p.notified.Add(1)
	switch method {
	case "notifications/progress":
		l.progress(params)
	case "notifications/message":
		p.logged(l, params, c)
	case "notifications/tools/list_changed":
		p.changed(dialect.ToolsChanged)
	case "notifications/prompts/list_changed":
		p.changed(dialect.PromptsChanged)
	case "notifications/resources/list_changed":
		p.changed(dialect.ResourcesChanged)
	case "notifications/resources/updated":
		o, _ := rawjson.Parse(params)
		if uri, ok := o.String("uri"); ok && p.rt.Changed != nil {
			p.rt.Changed(dialect.Change{Kind: dialect.ResourceUpdated, URI: uri})
		}
	default: // also "notifications/cancelled": the server withdraws a question, and will ignore its answer
		p.log.Debug("the server said", "method", excerpt.Of(method, shown), "params", excerpt.Of(string(params), shown))
	}
}

// progress passes on the progress of a call under the client's own token.
func (l *link) progress(params json.RawMessage) {
	o, err := rawjson.Parse(params)
	if err != nil {
		return
	}
	token, _ := o.String(mcpcall.MetaProgress)
	for _, c := range l.under(token) {
		if token != "" && c.wanted != nil {
			c.caller.Progress(o.With(field(mcpcall.MetaProgress, c.wanted)).JSON())
		}
	}
}

// logged passes a line of the server's log on to the clients with calls under way. Over pipes the
// line does not say to which call it belongs.
func (p *plugin) logged(l *link, params json.RawMessage, own *pending) {
	p.log.Debug("the server logs", "params", excerpt.Of(string(params), shown))
	calls := []*pending{own}
	if own == nil {
		calls = l.under("")
	}
	for _, c := range calls {
		if c.caller != nil && c.caller.Log != nil {
			c.caller.Log(params)
		}
	}
}

// changed reads the lists again and notifies the host, on a goroutine of its own.
func (p *plugin) changed(kind dialect.ChangeKind) {
	p.spawn(func() { p.relistFor(kind) })
}

// asked answers a request of the server.
func (p *plugin) asked(ctx context.Context, l *link, method string, params json.RawMessage, own *pending) (json.RawMessage, error) {
	switch method {
	case "ping":
		return json.RawMessage("{}"), nil
	case "roots/list", "elicitation/create", "sampling/createMessage":
	default:
		return nil, &wire.RPCError{Code: codeNoMethod, Message: "Method not found"}
	}
	caller, err := l.clientToAsk(own)
	if err == nil && caller != nil && caller.Ask != nil && (method != "roots/list" || hasRoots(caller)) {
		return caller.Ask(ctx, method, params)
	}
	if method == "roots/list" {
		return p.roots(), nil
	}
	if err == nil {
		err = &wire.RPCError{Code: codeNoMethod, Message: "the question cannot be asked: the call was not made by an MCP client that takes questions"}
	}
	return nil, err
}

// clientToAsk returns the client whose call is under way; nil: no MCP client made a call. Over
// pipes a question does not say to which call it belongs, and the answer of one client must not go
// to the call of another. So clientToAsk returns an error if calls of several clients are under
// way.
func (l *link) clientToAsk(own *pending) (*mcpcall.Caller, error) {
	if own != nil {
		return own.caller, nil
	}
	var found *mcpcall.Caller
	for _, c := range l.under("") {
		if c.caller == nil {
			continue
		}
		if found != nil && (found.Session == "" || found.Session != c.caller.Session) {
			return nil, &wire.RPCError{Code: codeInternal, Message: "several clients wait for answers, and the server does not say to whose call the question belongs"}
		}
		found = c.caller
	}
	return found, nil
}

func hasRoots(c *mcpcall.Caller) bool {
	o, err := rawjson.Parse(c.Capabilities)
	return err == nil && len(o.Get("roots")) > 0
}

// roots returns the project in which the host works.
func (p *plugin) roots() json.RawMessage {
	root := p.rt.ProjectRoot
	if root == "" {
		return json.RawMessage(`{"roots":[]}`)
	}
	address := url.URL{Scheme: "file", Path: filepath.ToSlash(root)}
	return fmt.Appendf(nil, `{"roots":[{"uri":%s,"name":%s}]}`, rawjson.String(address.String()), rawjson.String(filepath.Base(root)))
}
