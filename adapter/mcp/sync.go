package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/patchbay-dev/patchbay/adapter"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// A hostChange is one change that the host has reported.
type hostChange struct {
	kind Kind   // "": unknown
	uri  string // of a resource whose content has changed
}

// shown holds the definitions that clients see, by kind and name.
type shown map[Kind]map[string][]byte

// queueChange queues a change. If the queue is full, a change of a resource's content is dropped. A
// change of tools or offers takes the place of the oldest change, because it updates all tools and
// offers.
func (s *Server) queueChange(kind Kind, uri string) {
	for {
		select {
		case s.changes <- hostChange{kind, uri}:
			return
		default:
		}
		if kind == Resource {
			return
		}
		select {
		case <-s.changes:
		default:
		}
	}
}

// follow updates the server after each change in the host.
func (s *Server) follow(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case n := <-s.changes:
			if n.kind == Resource {
				if err := s.sdk.ResourceUpdated(ctx, &sdk.ResourceUpdatedNotificationParams{URI: n.uri}); err != nil {
					s.log.Debug("clients were not notified of a changed resource", "err", err)
				}
				continue
			}
			s.sync(n)
		}
	}
}

// sync makes the server offer what the host has now. Clients are notified of each difference. They
// are also notified if a plugin reports a change of a kind without a visible difference.
func (s *Server) sync(n hostChange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := shown{Tools: {}, Prompts: {}, Resources: {}, Templates: {}}
	add := make(map[Kind][]func())
	for _, t := range s.options.Host.Tools() {
		definition := definitionOf(t)
		now[Tools][t.Name] = definition
		add[Tools] = append(add[Tools], s.ifNew(Tools, t.Name, definition, n, func() error { return s.addTool(definition) }))
	}
	for _, o := range s.options.Host.Offers() {
		if now[o.Kind] == nil {
			s.log.Error("an offer of an unknown kind is not shown", "kind", o.Kind, "name", o.Name)
			continue
		}
		now[o.Kind][o.Name] = o.Definition
		add[o.Kind] = append(add[o.Kind], s.ifNew(o.Kind, o.Name, o.Definition, n, func() error { return s.addOffer(o) }))
	}
	for kind, names := range s.shown {
		for name := range names {
			if _, stays := now[kind][name]; !stays {
				s.remove(kind, name)
			}
		}
	}
	s.addAll(add)
	s.shown = now
}

// addAll runs the functions that add tools and offers.
func (s *Server) addAll(add map[Kind][]func()) {
	for _, list := range add {
		for _, do := range list {
			do()
		}
	}
}

// ifNew returns a function that adds a tool or offer if clients do not see it in this form. If the
// change n is about its kind, the function adds it in any case, which notifies clients.
func (s *Server) ifNew(kind Kind, name string, definition []byte, n hostChange, do func() error) func() {
	was, known := s.shown[kind][name]
	again := n.kind != "" && (n.kind == kind || n.kind == Resources && kind == Templates)
	if known && !again && bytes.Equal(was, definition) {
		return func() {}
	}
	return func() {
		if err := recoverPanic(do); err != nil {
			s.remove(kind, name) // clients would see the earlier definition
			s.log.Warn("not offered to MCP clients", "kind", kind, "name", name, "err", err)
		}
	}
}

// recoverPanic returns a panic of the MCP library as an error. The library panics at some invalid
// schemas, addresses and answers.
func recoverPanic(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	return do()
}

func (s *Server) remove(kind Kind, name string) {
	switch kind {
	case Tools:
		s.sdk.RemoveTools(name)
	case Prompts:
		s.sdk.RemovePrompts(name)
	case Resources:
		s.sdk.RemoveResources(name)
	case Templates:
		s.sdk.RemoveResourceTemplates(name)
	}
}

// definitionOf returns the MCP definition of a tool.
func definitionOf(t adapter.Tool) []byte {
	if t.Definition != nil {
		return t.Definition
	}
	schema := t.Parameters
	if len(schema) == 0 {
		schema = json.RawMessage(`{"type":"object"}`)
	}
	return rawjson.Object{
		{Name: "name", Value: rawjson.String(t.Name)},
		{Name: "description", Value: rawjson.String(t.Description)},
		{Name: "inputSchema", Value: schema},
	}.JSON()
}

func (s *Server) addTool(definition []byte) error {
	var t sdk.Tool
	if err := json.Unmarshal(definition, &t); err != nil {
		return err
	}
	o, err := rawjson.Parse(definition)
	if err != nil {
		return err
	}
	t.InputSchema = objectSchema(o.Get("inputSchema"))
	if output := o.Get("outputSchema"); len(output) > 0 {
		t.OutputSchema = output
	}
	s.sdk.AddTool(&t, s.callTool)
	return nil
}

// objectSchema returns a schema with the type "object", which MCP requires.
func objectSchema(schema json.RawMessage) json.RawMessage {
	o, err := rawjson.Parse(schema)
	if err != nil {
		return json.RawMessage(`{"type":"object"}`)
	}
	if kind, _ := o.String("type"); kind != "object" {
		o = o.With(rawjson.Field{Name: "type", Value: json.RawMessage(`"object"`)})
	}
	return o.JSON()
}

func (s *Server) addOffer(o Offer) error {
	switch o.Kind {
	case Prompts:
		var p sdk.Prompt
		if err := json.Unmarshal(o.Definition, &p); err != nil {
			return err
		}
		s.sdk.AddPrompt(&p, s.getPrompt)
	case Resources:
		var r sdk.Resource
		if err := json.Unmarshal(o.Definition, &r); err != nil {
			return err
		}
		s.sdk.AddResource(&r, s.reader(o.Plugin))
	case Templates:
		var t sdk.ResourceTemplate
		if err := json.Unmarshal(o.Definition, &t); err != nil {
			return err
		}
		s.sdk.AddResourceTemplate(&t, s.reader(o.Plugin))
	}
	return nil
}
