package mcp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/mcpcall"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// CallTool runs one of the server's tools. The result has a text, and the server's whole answer in
// Raw.
func (p *plugin) CallTool(ctx context.Context, name string, arguments json.RawMessage) (dialect.ToolResult, error) {
	own, ok := p.lists.Load().own[ownTool+name]
	if !ok {
		return dialect.ToolResult{}, fmt.Errorf("plugin %s has no tool %q", p.server.Name, name)
	}
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	params := rawjson.Object{field("name", rawjson.String(own)), field("arguments", arguments)}
	result, err := p.ask(ctx, "tools/call", params)
	if err != nil {
		return dialect.ToolResult{Sent: params.JSON()}, err
	}
	r, err := p.result(ctx, name, result)
	r.Sent, r.Received = params.JSON(), result
	return r, err
}

// ask sends one request over the current connection.
func (p *plugin) ask(ctx context.Context, method string, params rawjson.Object) (json.RawMessage, error) {
	l, err := p.linkFor(ctx)
	if err != nil {
		return nil, err
	}
	if crosses(l, mcpcall.From(ctx), method) {
		return p.callOrContinue(ctx, l, method, params)
	}
	result, err := l.call(ctx, method, params)
	if errors.Is(err, errLost) { // the server has forgotten the session, so a new one is opened, once
		if l, err = p.linkFor(ctx); err == nil {
			result, err = l.call(ctx, method, params)
		}
	}
	return result, err
}

// result reads a tool's answer.
func (p *plugin) result(ctx context.Context, name string, raw json.RawMessage) (dialect.ToolResult, error) {
	o, err := rawjson.Parse(raw)
	if err != nil {
		return dialect.ToolResult{}, garbled("tools/call", raw)
	}
	if kind, _ := o.String("resultType"); kind == "input_required" {
		if mcpcall.From(ctx) == nil {
			return failed(name, "the tool asks a question before it goes on, and the caller takes no questions"), nil
		}
		return dialect.ToolResult{Tool: name, Success: true, Raw: raw, Pending: true}, nil
	}
	text, err := textOf(o)
	if err != nil {
		return dialect.ToolResult{}, err
	}
	r := dialect.ToolResult{Tool: name, Success: string(o.Get("isError")) != "true", Result: text, Raw: raw}
	if !r.Success {
		r.Error = text
		if text == "" {
			r.Error = "the tool failed, and did not say why"
		}
	}
	return r, nil
}

func failed(tool, why string) dialect.ToolResult {
	return dialect.ToolResult{Tool: tool, Result: why, Error: why}
}

// textOf returns a result as text. Parts that are not text are described.
func textOf(o rawjson.Object) (string, error) {
	var parts []json.RawMessage
	if content := o.Get("content"); len(content) > 0 {
		if err := json.Unmarshal(content, &parts); err != nil {
			return "", hook.Failure(hook.Garbled, errors.New("the content of a tool's result is not a list"))
		}
	}
	var texts []string
	for _, raw := range parts {
		if part, err := rawjson.Parse(raw); err == nil {
			texts = append(texts, partText(part))
		}
	}
	if structured := o.Get("structuredContent"); len(structured) > 0 && !repeats(texts, structured) {
		texts = append(texts, string(structured))
	}
	return strings.Join(texts, "\n"), nil
}

// repeats reports whether one of the texts is the structured content. Servers should repeat it as
// text. If a server does not, textOf adds it to the text, because plugins that check results must
// see everything that a client gets.
func repeats(texts []string, structured json.RawMessage) bool {
	return slices.ContainsFunc(texts, func(text string) bool {
		v, err := rawjson.CleanWithin([]byte(text), rawjson.MaxForeign)
		return err == nil && rawjson.Equal(v, rawjson.Clean(structured))
	})
}

func partText(o rawjson.Object) string {
	kind, _ := o.String("type")
	switch kind {
	case "text":
		text, _ := o.String("text")
		return text
	case "resource":
		r, _ := rawjson.Parse(o.Get("resource"))
		if text, ok := r.String("text"); ok {
			return text
		}
		uri, _ := r.String("uri")
		return "[resource " + uri + "]"
	case "resource_link":
		var words []string
		for _, name := range []string{"uri", "name", "title", "description"} {
			if word, _ := o.String(name); word != "" && !slices.Contains(words, word) {
				words = append(words, word)
			}
		}
		return "[resource " + strings.Join(words, ", ") + "]"
	}
	mime, _ := o.String("mimeType")
	data, _ := o.String("data")
	return fmt.Sprintf("[%s %s, %d bytes]", kind, mime, base64.StdEncoding.DecodedLen(len(data)))
}

// CallMethod sends a request about a prompt or a resource.
func (p *plugin) CallMethod(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	now := p.lists.Load()
	if !slices.Contains(now.methods(), method) {
		return nil, fmt.Errorf("plugin %s has no method %q, only %s", p.server.Name, method, strings.Join(now.methods(), ", "))
	}
	o, err := rawjson.Parse(params)
	if err != nil {
		return nil, fmt.Errorf("plugin %s: %s: params: %w", p.server.Name, method, err)
	}
	switch method {
	case "prompts/get":
		o = now.renamed(o)
	case "completion/complete":
		if ref, err := rawjson.Parse(o.Get("ref")); err == nil {
			o = o.With(field("ref", now.renamed(ref).JSON()))
		}
	case "resources/subscribe", "resources/unsubscribe":
		return p.subscribe(ctx, method, o)
	}
	return p.ask(ctx, method, o)
}

// renamed replaces our name of a prompt with the server's.
func (n *lists) renamed(o rawjson.Object) rawjson.Object {
	name, _ := o.String("name")
	if own, ok := n.own[ownPrompt+name]; ok {
		return o.With(field("name", rawjson.String(own)))
	}
	return o
}

// mostSubscribed limits how many resources a plugin subscribes to.
const mostSubscribed = 1000

// subscribe starts or ends the server's notifications about a resource. The two kinds of servers do
// this differently.
func (p *plugin) subscribe(ctx context.Context, method string, o rawjson.Object) (json.RawMessage, error) {
	uri, ok := o.String("uri")
	if !ok {
		return nil, errors.New("a resource is named by its uri")
	}
	l, err := p.main.get(ctx)
	if err != nil {
		return nil, err
	}
	if l.era == handshake {
		return l.call(ctx, method, o)
	}
	if method == "resources/unsubscribe" {
		p.removeSubscribed(uri)
	} else if err := p.addSubscribed(uri); err != nil {
		return nil, err
	}
	p.follow()
	return json.RawMessage("{}"), nil
}

func (p *plugin) addSubscribed(uri string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.subscribed) >= mostSubscribed && !p.subscribed[uri] {
		return fmt.Errorf("clients subscribe to %d resources of this server, which is the limit; unsubscribe from one first", mostSubscribed)
	}
	p.subscribed[uri] = true
	return nil
}

func (p *plugin) removeSubscribed(uri string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.subscribed, uri)
}
