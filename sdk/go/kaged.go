package plugin

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// kagedAPI is the version of the protocol that this package speaks.
const kagedAPI = 1

// kager answers in kaged.
type kager struct {
	session *session
	prefix  string // of its tools' methods
}

// kaged answers the handshake.
func (c *conversation) kaged(ctx context.Context, params []byte) (speaker, []byte, error) {
	var p struct {
		API          int             `json:"api_version"`
		Name         string          `json:"plugin_name"`
		Storage      bool            `json:"storage_available"`
		Config       json.RawMessage `json:"config"`
		SystemConfig json.RawMessage `json:"system_config"`
	}
	if err := decode(params, &p); err != nil {
		return nil, nil, err
	}
	s := c.session
	if p.API != kagedAPI {
		return nil, nil, &rpcError{codeParams, fmt.Sprintf("api_version is %d, and this plugin speaks %d", p.API, kagedAPI)}
	}
	if p.Name != "" && p.Name != s.plugin.name {
		s.plugin.log.Warn("the manifest has another name than the plugin", "manifest", p.Name, "plugin", s.plugin.name)
	}
	s.ask, s.tell, s.store = c.request, c.notify, nil
	if p.Storage {
		s.store = hostStore{c.request}
	}
	if err := s.begin(ctx, orEmpty(p.Config), orEmpty(p.SystemConfig)); err != nil {
		return nil, nil, &rpcError{codeParams, err.Error()}
	}
	result, err := marshal(object{{"name", s.plugin.name}, {"version", s.plugin.version}, {"api_version", kagedAPI},
		{"methods", list(s.plugin.methodNames())}, {"notifications", list(s.plugin.notifications)},
		{"capabilities_used", list(s.plugin.kagedCapabilities())}})
	return kager{s, s.plugin.name + "."}, result, err
}

func orEmpty(v json.RawMessage) []byte {
	if len(v) == 0 || string(v) == "null" {
		return []byte("{}")
	}
	return v
}

func (p *Plugin) methodNames() []string {
	var out []string
	for _, m := range p.methods {
		out = append(out, m.name)
	}
	return out
}

func (p *Plugin) kagedCapabilities() []string {
	out := append([]string(nil), p.capabilities...)
	for _, c := range []string{"kaged:storage:read", "kaged:storage:write"} {
		if p.usesState && !contains(out, c) {
			out = append(out, c)
		}
	}
	return out
}

func (kager) alone() bool { return false }

const hookPrefix = "kaged.hook."

func (d kager) answer(ctx context.Context, out []byte, method, params []byte) ([]byte, error) {
	name := string(method)
	call := Call{}
	var arguments []byte
	if len(params) > 0 {
		rest := []byte{'{'}
		err := members(params, func(key, value []byte) {
			if string(key) == "_context" {
				_ = json.Unmarshal(value, &call) // a context of another form is ignored
				return
			}
			if len(rest) > 1 {
				rest = append(rest, ',')
			}
			rest = append(append(appendString(rest, key), ':'), value...)
		})
		if err != nil {
			return nil, &argumentError{err}
		}
		arguments = append(rest, '}')
	}
	call.Dialect = Kaged
	ctx = with(ctx, call)
	switch {
	case name == "health.check":
		if err := d.session.healthy(ctx); err != nil {
			return nil, err
		}
		return append(out, `{"ok":true}`...), nil
	case strings.HasPrefix(name, hookPrefix):
		return d.hook(ctx, out, name[len(hookPrefix):], arguments)
	}
	o := find(d.session.plugin.methods, name)
	if tool, own := strings.CutPrefix(name, d.prefix); o == nil && own {
		o = find(d.session.plugin.tools, tool)
	}
	if o == nil {
		return nil, unknown(method)
	}
	result, err := d.session.plugin.invoke(ctx, o, arguments)
	if err != nil {
		return nil, err
	}
	return appendValue(out, result)
}

// hook fires the point of one of the four hooks. null means no opinion.
func (d kager) hook(ctx context.Context, out []byte, hook string, params []byte) ([]byte, error) {
	if !contains(d.session.plugin.hooks(Kaged), hook) {
		return nil, unknown([]byte(hookPrefix + hook))
	}
	switch hook {
	case "on_session_start":
		var e SessionEvent
		return d.asked(ctx, out, "session.start", params, &e, func() any { return object{{"inject", e.Inject}} })
	case "on_session_idle":
		return d.asked(ctx, out, "session.idle", params, &IdleEvent{}, func() any { return nil })
	case "pre_compact":
		var e CompactEvent
		return d.asked(ctx, out, "compact.before", params, &e, func() any { return compacted(&e) })
	default:
		var e CompactedEvent
		return d.asked(ctx, out, "compact.after", params, &e, func() any { return retained(&e) })
	}
}

func (d kager) asked(ctx context.Context, out []byte, point string, params []byte, event any, changed func() any) ([]byte, error) {
	if err := decode(params, event); err != nil {
		return nil, err
	}
	v := d.session.plugin.ask(ctx, point, event, "")
	switch v.kind {
	case kindFail:
		return nil, v.err
	case kindModify:
		if point == "compact.before" && !d.session.plugin.Compactor {
			return nil, fmt.Errorf("modify cannot be returned at %s, unless the plugin is the compactor: set Compactor", point)
		}
		return appendValue(out, changed())
	}
	return append(out, "null"...), nil
}

func compacted(e *CompactEvent) any {
	if e.Summary != "" {
		return object{{"summary", e.Summary}}
	}
	return map[string]any{"messages": e.Messages}
}

func retained(e *CompactedEvent) any {
	retain := e.Retain
	if retain == nil {
		retain = []Message{}
	}
	out := map[string]any{"retain": retain}
	if e.Inject != "" {
		out["inject"] = e.Inject
	}
	return out
}

// hostStore is kaged's storage.
type hostStore struct {
	ask func(ctx context.Context, method string, params any) ([]byte, error)
}

func (h hostStore) get(ctx context.Context, key string) (json.RawMessage, error) {
	var r struct{ Value json.RawMessage }
	err := h.call(ctx, "kaged.storage.get", object{{"key", key}}, &r)
	return r.Value, err
}

func (h hostStore) put(ctx context.Context, key string, value json.RawMessage) error {
	return h.call(ctx, "kaged.storage.put", object{{"key", key}, {"value", value}}, nil)
}

func (h hostStore) delete(ctx context.Context, key string) error {
	return h.call(ctx, "kaged.storage.delete", object{{"key", key}}, nil)
}

func (h hostStore) list(ctx context.Context, prefix string) ([]string, error) {
	var r struct{ Keys []string }
	err := h.call(ctx, "kaged.storage.list", object{{"prefix", prefix}}, &r)
	return r.Keys, err
}

func (h hostStore) call(ctx context.Context, method string, params object, into any) error {
	result, err := h.ask(ctx, method, params)
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(result, into)
}
