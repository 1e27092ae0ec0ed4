package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/excerpt"
	"github.com/patchbay-dev/patchbay/internal/pause"
	"github.com/patchbay-dev/patchbay/rawjson"
)

const (
	mostPages = 100  // of one list
	mostItems = 5000 // of one list
)

// lists holds what a server offers at one moment. It is not changed after it was read.
type lists struct {
	welcome  welcome
	protocol string
	tools    []dialect.Tool
	offers   []dialect.Offer
	own      map[string]string // from our name of a tool or prompt to the server's; a prefix of our name tells which of the two it is
	headers  map[string][]paramHeader
}

// The prefixes in lists.own.
const (
	ownTool   = "tool:"
	ownPrompt = "prompt:"
)

func (n *lists) description() string {
	text := cmp.Or(n.welcome.title, n.welcome.name)
	first, _, _ := strings.Cut(strings.TrimSpace(n.welcome.instructions), "\n")
	if first != "" {
		text = strings.TrimPrefix(text+": "+first, ": ")
	}
	return excerpt.Of(text, shown)
}

// methods returns the methods that users and clients can call.
func (n *lists) methods() []string {
	var out []string
	if n.welcome.can("prompts") {
		out = append(out, "prompts/get")
	}
	if n.welcome.can("resources") {
		out = append(out, "resources/read", "resources/subscribe", "resources/unsubscribe")
	}
	if n.welcome.can("completions") {
		out = append(out, "completion/complete")
	}
	return out
}

// read reads all lists of the server: docs/protocols/mcp.md, row C25.
func (p *plugin) read(ctx context.Context) error {
	p.listing.Lock()
	defer p.listing.Unlock()
	l, err := p.main.get(ctx)
	if err != nil {
		return err
	}
	now := &lists{welcome: l.welcome, protocol: l.version, own: make(map[string]string), headers: make(map[string][]paramHeader)}
	if l.welcome.can("tools") {
		err = errors.Join(err, p.each(ctx, l, "tools", func(o rawjson.Object) { p.addTool(now, o) }))
	}
	if l.welcome.can("prompts") {
		err = errors.Join(err, p.each(ctx, l, "prompts", func(o rawjson.Object) { p.addPrompt(now, o) }))
	}
	if l.welcome.can("resources") {
		err = errors.Join(err, p.each(ctx, l, "resources", func(o rawjson.Object) { p.addResource(now, dialect.Resource, "uri", o) }))
		// Many servers with resources have no templates, and answer that they do not know the
		// method.
		_ = p.each(ctx, l, "resources/templates", func(o rawjson.Object) { p.addResource(now, dialect.ResourceTemplate, "uriTemplate", o) })
	}
	if err != nil {
		return err
	}
	p.lists.Store(now)
	return nil
}

// each reads one list, page by page, and calls take for each item.
func (p *plugin) each(ctx context.Context, l *link, what string, take func(rawjson.Object)) error {
	key := what
	if what == "resources/templates" {
		key = "resourceTemplates"
	}
	cursor, items, pages := json.RawMessage(nil), 0, 0
	for ; pages < mostPages; pages++ {
		params := rawjson.Object{}
		if cursor != nil {
			params = params.With(field("cursor", cursor))
		}
		result, err := l.call(ctx, what+"/list", params)
		if err != nil {
			return fmt.Errorf("%s/list: %w", what, err)
		}
		o, err := rawjson.Parse(result)
		if err != nil {
			return garbled(what+"/list", result)
		}
		var page []json.RawMessage
		if err := json.Unmarshal(o.Get(key), &page); err != nil {
			return garbled(what+"/list", result)
		}
		for _, item := range page {
			if one, err := rawjson.Parse(item); err == nil && items < mostItems {
				take(one)
			}
			items++
		}
		if cursor = o.Get("nextCursor"); rawjson.Missing(cursor) {
			break
		}
	}
	switch {
	case items > mostItems:
		p.rt.Unusable(fmt.Sprintf("its list of %s has more than %d entries: the rest is left out", what, mostItems), "")
	case pages == mostPages:
		p.rt.Unusable(fmt.Sprintf("its list of %s has more than %d pages: the rest is left out", what, mostPages), "let the server send more entries in a page")
	}
	return nil
}

// addTool adds one tool. Its definition is kept as the server wrote it, except for its name.
func (p *plugin) addTool(now *lists, o rawjson.Object) {
	own, ok := o.String("name")
	if !ok || own == "" {
		p.rt.Unusable("it has a tool without a name", "")
		return
	}
	name := fullName(p.server.Prefix, own)
	if now.own[ownTool+name] != "" {
		p.rt.Unusable(fmt.Sprintf("it has two tools that are called %s: the second is left out", name), "")
		return
	}
	now.own[ownTool+name] = own
	description, _ := o.String("description")
	parameters := o.Get("inputSchema")
	if len(parameters) == 0 || parameters[0] != '{' {
		parameters = json.RawMessage(`{"type":"object"}`)
	}
	now.headers[own] = paramHeaders(parameters)
	now.tools = append(now.tools, dialect.Tool{Name: name, Plugin: p.server.Name, Dialect: Name, Description: description,
		Parameters: parameters, Definition: o.With(field("name", rawjson.String(name))).JSON()})
}

func (p *plugin) addPrompt(now *lists, o rawjson.Object) {
	own, ok := o.String("name")
	if !ok || own == "" {
		p.rt.Unusable("it has a prompt without a name", "")
		return
	}
	name := fullName(p.server.Prefix, own)
	if now.own[ownPrompt+name] != "" {
		p.rt.Unusable(fmt.Sprintf("it has two prompts that are called %s: the second is left out", name), "")
		return
	}
	now.own[ownPrompt+name] = own
	now.offers = append(now.offers, dialect.Offer{Kind: dialect.Prompt, Name: name, Plugin: p.server.Name, Dialect: Name,
		Definition: o.With(field("name", rawjson.String(name))).JSON()})
}

func (p *plugin) addResource(now *lists, kind dialect.OfferKind, key string, o rawjson.Object) {
	uri, ok := o.String(key)
	if !ok || uri == "" {
		p.rt.Unusable("it has a resource without a "+key, "")
		return
	}
	now.offers = append(now.offers, dialect.Offer{Kind: kind, Name: uri, Plugin: p.server.Name, Dialect: Name, Definition: o.JSON()})
}

// relist reads all lists again after a restart.
func (p *plugin) relist() {
	for _, kind := range []dialect.ChangeKind{dialect.ToolsChanged, dialect.PromptsChanged, dialect.ResourcesChanged} {
		p.changed(kind)
	}
	p.follow()
}

// relistFor reads the lists again because one has changed, and notifies the host.
func (p *plugin) relistFor(kind dialect.ChangeKind) {
	ctx, cancel := context.WithTimeout(p.ctx, handshakeTimeout)
	defer cancel()
	if err := p.read(ctx); err != nil {
		if p.ctx.Err() == nil {
			p.log.Warn("the server's lists cannot be read again", "err", err)
		}
		return
	}
	if p.rt.Changed != nil {
		p.rt.Changed(dialect.Change{Kind: kind})
	}
}

// follow subscribes to changes at a modern server, which reports them only in answer to a request
// that stays open.
func (p *plugin) follow() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listen != nil {
		p.listen()
	}
	if p.ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithCancel(p.ctx)
	p.listen = cancel
	params := rawjson.Object{field("notifications", p.wanted())}
	p.spawn(func() { p.listenOn(ctx, params) })
}

// wanted returns the changes to subscribe to. The caller holds mu.
func (p *plugin) wanted() json.RawMessage {
	var uris []string
	for uri := range p.subscribed {
		uris = append(uris, uri)
	}
	want := map[string]any{"toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true}
	if len(uris) > 0 {
		want["resourceSubscriptions"] = uris
	}
	text, _ := json.Marshal(want) // strings and booleans can be encoded
	return text
}

// listenPause is the pause before a subscription that the server ended is made again.
const listenPause = 5 * time.Second

func (p *plugin) listenOn(ctx context.Context, params rawjson.Object) {
	for ctx.Err() == nil {
		l, err := p.main.get(ctx)
		if err == nil && l.era == handshake {
			return // it sends notifications without a subscription
		}
		if err == nil {
			_, err = l.call(ctx, "subscriptions/listen", params)
		}
		if err != nil && ctx.Err() == nil {
			p.log.Debug("the server does not report changes", "err", err)
		}
		if pause.For(ctx, listenPause) != nil {
			return
		}
	}
}
