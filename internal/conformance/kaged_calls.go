package conformance

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/dialect/kaged"
	"github.com/patchbay-dev/patchbay/internal/entry"
	"github.com/patchbay-dev/patchbay/internal/schema/sample"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// kagedRate is how many notifications a second are passed on.
const kagedRate = 100

// kagedStorage holds the values that the plugin stores during a run.
type kagedStorage struct {
	mu     sync.Mutex // protects values
	values map[string]json.RawMessage
}

// answer answers the plugin's requests as the host does.
func (s *kagedSuite) answer(method string, params json.RawMessage) (json.RawMessage, *rpcError) {
	needs := map[string]capability.Kind{"kaged.storage.get": capability.StorageRead, "kaged.storage.list": capability.StorageRead,
		"kaged.storage.put": capability.StorageWrite, "kaged.storage.delete": capability.StorageWrite}[method]
	o, err := rawjson.Parse(params)
	misfit := "they are not an object"
	if err == nil {
		misfit = storageMisfit(method, o)
	}
	switch {
	case needs == "":
		s.seen.note(sawRequest, "it asks the host for %s", shown(method))
		return nil, &rpcError{Code: codeNoMethod, Message: "no such method"}
	case misfit != "":
		s.seen.note(sawRequest, "the params of %s do not fit: %s: %s", method, misfit, shown(params))
		return nil, &rpcError{Code: -32602, Message: "the params do not fit: " + misfit}
	case !slices.Contains(s.manifest.Capabilities, capability.Capability{Kind: needs}):
		s.seen.note(sawStorage, "%s needs the capability %s", method, needs)
		return nil, &rpcError{Code: -32001, Message: "the capability " + string(needs) + " is missing"}
	}
	return s.kept.serve(method, o), nil
}

// storageMisfit says what is wrong with the params of a storage request; "": nothing.
func storageMisfit(method string, o rawjson.Object) string {
	if method == "kaged.storage.list" {
		if prefix := o.Get("prefix"); !rawjson.Missing(prefix) && prefix[0] != '"' {
			return "prefix is not a string"
		}
		return ""
	}
	key, ok := o.String("key")
	if !ok {
		return "key is not a string"
	}
	if err := entry.CheckKey(key); err != nil {
		return err.Error()
	}
	if method == "kaged.storage.put" && o.Get("value") == nil {
		return "there is no value"
	}
	return ""
}

func (k *kagedStorage) serve(method string, o rawjson.Object) json.RawMessage {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.values == nil {
		k.values = make(map[string]json.RawMessage)
	}
	key, _ := o.String("key")
	switch method {
	case "kaged.storage.get":
		return rawjson.Object{{Name: "value", Value: dialect.OrNull(k.values[key])}}.JSON()
	case "kaged.storage.put":
		k.values[key] = slices.Clone(o.Get("value"))
	case "kaged.storage.delete":
		delete(k.values, key)
	case "kaged.storage.list":
		return k.list(o)
	}
	return json.RawMessage(`{}`)
}

// list returns the keys that begin with a prefix.
func (k *kagedStorage) list(o rawjson.Object) json.RawMessage {
	prefix, _ := o.String("prefix")
	keys := []string{}
	for key := range k.values {
		if len(key) >= len(prefix) && key[:len(prefix)] == prefix {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	raw, _ := json.Marshal(map[string][]string{"keys": keys}) // cannot fail
	return raw
}

// A meter counts events within a second.
type meter struct {
	mu    sync.Mutex // protects times
	times []time.Time
}

// over counts one more event, and reports whether the last second had more events than the limit,
// most.
func (m *meter) over(most int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.times = append(m.times, time.Now())
	if len(m.times) > most+1 {
		m.times = m.times[1:]
	}
	return len(m.times) > most && time.Since(m.times[0]) < time.Second
}

// notified handles a notification of the plugin.
func (s *kagedSuite) notified(method string) {
	if !slices.Contains(s.manifest.Notifications, method) {
		s.seen.note(sawUnasked, "it sends the notification %s, which the manifest does not declare", shown(method))
	}
	if s.rate.over(kagedRate) {
		s.seen.note(sawFlood, "it sent more than %d notifications within a second", kagedRate)
	}
}

// kagedEvents returns the events that hooks get: an empty one, and transcripts of several kinds.
func kagedEvents(hook string) []json.RawMessage {
	messages := []string{`[]`, `[{"role":"user","content":"Hi"},{"role":"assistant","content":"Hello."}]`,
		fmt.Sprintf(`[{"role":"user","content":%[1]s},{"role":"assistant","content":"","tool_calls":[{"id":"c1","name":"shell","arguments":{"cmd":"ls"}}]},{"role":"tool","content":%[1]s,"tool_call_id":"c1","name":"shell"},{"role":"system","content":"Be brief."}]`,
			rawjson.String(sample.Odd))}
	var out []json.RawMessage
	for i, m := range messages {
		strategy := []string{"summarize", "drop", "delegate"}[i]
		switch hook {
		case "on_session_start":
			out = append(out, json.RawMessage(`{"session_id":"ses_1","working_dir":"/work","project_root":"/work"}`))
			return out
		case "on_session_idle":
			out = append(out, json.RawMessage(fmt.Sprintf(`{"transcript":%s,"session_id":"ses_1"}`, m)))
		case "pre_compact":
			out = append(out, json.RawMessage(fmt.Sprintf(`{"messages":%s,"strategy":%q,"trigger":"auto","session_id":"ses_1"}`, m, strategy)))
		case "post_compact":
			out = append(out, json.RawMessage(fmt.Sprintf(`{"messages_being_compacted":%s,"messages_remaining":[],"strategy":%q,"trigger":"manual","session_id":"ses_1"}`, m, strategy)))
		}
	}
	return out
}

func (s *kagedSuite) askHooks(t *trial) {
	for _, name := range s.manifest.Hooks {
		for _, event := range kagedEvents(name) {
			a := s.ask(t, "the hook "+name, request{"kaged.hook." + name, s.withContext(event), s.manifest.HookTimeout})
			if t.failed() {
				return
			}
			if a.err != nil {
				t.failf("the hook %s is answered with %v", name, a.err)
				return
			}
			if fault := s.hookFault(name, a.result); fault != "" {
				s.seen.note(sawContext, "the hook %s: %s", name, fault)
			}
			for _, note := range s.unknown(name, a.result) {
				s.seen.note(sawIgnored, "the hook %s: %s", name, note)
			}
		}
	}
	if len(s.manifest.Hooks) == 0 {
		t.skipf("it has no hooks")
		return
	}
	slow(t)
	t.passf("%s", plural(len(s.manifest.Hooks), "hook"))
}

// unknown returns notes about the ignored parts of a hook's answer. The whole answer to
// on_session_idle is ignored, and so is an observer's answer to pre_compact. Of other answers, the
// fields that the hook does not have are ignored.
func (s *kagedSuite) unknown(name string, result json.RawMessage) []string {
	if rawjson.Missing(result) {
		return nil
	}
	if name == "on_session_idle" || name == "pre_compact" && !s.manifest.Compactor() {
		return []string{"the answer is ignored, and should be null: " + shown(result)}
	}
	o, err := rawjson.Parse(result)
	if err != nil {
		return nil // hookFault reports it
	}
	return dialect.UnknownFields("the answer", o, kaged.AnswerFields(name))
}

// hookResults reports what was seen in the answers of hooks.
func hookResults(t *trial) {
	if text := t.seen.of(sawContext); text != "" {
		t.failf("%s", text)
	}
	if text := t.seen.of(sawIgnored); text != "" {
		t.warnf("%s", text)
	}
	t.passf("answers have their form")
}

// hookFault says what is wrong with the answer of a hook.
func (s *kagedSuite) hookFault(name string, result json.RawMessage) string {
	if rawjson.Missing(result) {
		return ""
	}
	o, err := rawjson.Parse(result)
	if err != nil {
		return "neither an object nor null: " + shown(result)
	}
	for _, field := range []string{"inject", "summary"} {
		if v := o.Get(field); !rawjson.Missing(v) && v[0] != '"' {
			return fmt.Sprintf("%s is not a string: %s", field, shown(v))
		}
	}
	for _, field := range []string{"retain", "messages"} {
		if v := o.Get(field); !rawjson.Missing(v) {
			if err := kaged.CheckMessages(v); err != nil {
				return field + err.Error()
			}
		}
	}
	if name == "pre_compact" && s.manifest.Compactor() && o.Get("messages") == nil && o.Get("summary") == nil {
		return "a compactor answers with null, messages or summary: " + shown(result)
	}
	return ""
}

func (s *kagedSuite) askTools(t *trial) {
	calls := 0
	for _, tool := range s.manifest.Tools {
		values, failed, last := samples(tool.JSON), 0, ""
		for _, v := range values {
			what := fmt.Sprintf("the tool %s (%s arguments)", tool.Name, v.Size)
			a := s.ask(t, what, request{s.manifest.Name + "." + tool.Name, s.withContext(v.JSON), kagedCall})
			if t.failed() {
				return
			}
			calls++
			if a.err != nil {
				failed, last = failed+1, fmt.Sprintf("%s: %v", what, a.err)
			}
			if a.err != nil && a.err.Code == codeNoMethod {
				t.failf("the manifest has the tool %s, but the plugin does not know the method %s.%s", tool.Name, s.manifest.Name, tool.Name)
				return
			}
		}
		if failed == len(values) && failed > 0 {
			t.warnf("every call of the tool %s failed; the last: %s", tool.Name, last)
		}
	}
	if calls == 0 {
		t.skipf("it has no tools, or none that arguments could be made for")
		return
	}
	t.passf("%s", plural(calls, "call"))
}

func (s *kagedSuite) askMethods(t *trial) {
	for _, method := range s.manifest.Methods {
		a := s.ask(t, "the method "+method, request{method, json.RawMessage(`{}`), kagedCall})
		if t.failed() {
			return
		}
		if a.err != nil && a.err.Code == codeNoMethod {
			t.failf("the manifest has the method %s, but the plugin does not know it", method)
			return
		}
	}
	if len(s.manifest.Methods) == 0 {
		t.skipf("it has no methods")
		return
	}
	t.passf("%s", plural(len(s.manifest.Methods), "method"))
}
