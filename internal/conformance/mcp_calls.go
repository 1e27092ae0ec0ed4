package conformance

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/patchbay-dev/patchbay/internal/schema"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// An mcpTool is a tool of the server.
type mcpTool struct {
	name          string
	input, output json.RawMessage
	destroys      bool
}

// mostPages limits the pages of a list.
const mostPages = 50

// pages reads a list to its end. It fails the check if the list cannot be read.
func (s *mcpSuite) pages(t *trial, method, field string) (items []rawjson.Object) {
	cursor := ""
	for range mostPages {
		a := s.ask(t, method, request{method, s.params(cursor), mcpAnswer})
		if t.failed() {
			return nil
		}
		if a.err != nil {
			t.failf("%s is answered with %v", method, a.err)
			return nil
		}
		page, err := rawjson.Parse(a.result)
		var list []json.RawMessage
		if err != nil || json.Unmarshal(page.Get(field), &list) != nil || page.Get(field) == nil {
			t.failf("%s is answered without a list %s: %s", method, field, shown(a.result))
			return nil
		}
		for _, raw := range list {
			o, err := rawjson.Parse(raw)
			if err != nil {
				t.failf("%s has an item that is not an object: %s", method, shown(raw))
				return nil
			}
			items = append(items, o)
		}
		next := page.Get("nextCursor")
		if rawjson.Missing(next) {
			return items
		}
		cursor = `"cursor":` + string(next)
	}
	t.failf("%s has no last page: %d pages were read", method, mostPages)
	return items
}

// listed reads a list of items with unique names.
func (s *mcpSuite) listed(t *trial, field, method, key string) []rawjson.Object {
	if !s.has(field) {
		t.skipf("it says that it has no %s", field)
		return nil
	}
	items := s.pages(t, method, field)
	var names []string
	for i, item := range items {
		name, ok := item.String(key)
		if !ok || name == "" {
			t.failf("%s: %s[%d] has no %s: %s", method, field, i, key, shown(item.JSON()))
		} else if slices.Contains(names, name) {
			t.failf("%s: there are two of the %s %s", method, key, shown(name))
		}
		names = append(names, name)
	}
	t.passf("%d %s", len(items), field)
	return items
}

func (s *mcpSuite) listTools(t *trial) {
	for i, item := range s.listed(t, "tools", "tools/list", "name") {
		name, _ := item.String("name")
		tool := mcpTool{name: name, input: item.Get("inputSchema"), output: item.Get("outputSchema")}
		hints, _ := rawjson.Parse(item.Get("annotations")) // without an object there are no hints
		tool.destroys = string(hints.Get("destructiveHint")) == "true"
		o, err := rawjson.Parse(tool.input)
		if kind, _ := o.String("type"); err != nil || kind != "object" {
			t.failf(`tools[%d] (%s) has no inputSchema with "type":"object": %s`, i, shown(name), shown(tool.input))
			continue
		}
		for _, raw := range []json.RawMessage{tool.input, tool.output} {
			if rawjson.Missing(raw) {
				continue
			}
			if _, faults := schema.Compile(raw); len(faults) > 0 {
				t.failf("tools[%d] (%s): %s", i, shown(name), faultsIn(faults))
			}
		}
		s.tools = append(s.tools, tool)
	}
}

func (s *mcpSuite) execute(tool string, arguments json.RawMessage) request {
	return request{"tools/call", s.params(fmt.Sprintf(`"name":%s,"arguments":%s`, rawjson.String(tool), arguments)), mcpAnswer}
}

func (s *mcpSuite) callTools(t *trial) {
	calls, left := 0, 0
	for _, tool := range s.tools {
		if tool.destroys {
			left++
			continue
		}
		for _, v := range samples(tool.input) {
			what := fmt.Sprintf("the tool %s (%s arguments)", tool.name, v.Size)
			a := s.ask(t, what, s.execute(tool.name, v.JSON))
			if t.failed() {
				return
			}
			calls++
			if a.err != nil {
				t.warnf("%s is answered with %v: a tool's failure is a result with isError", what, a.err)
				continue
			}
			if s.toolResult(t, what, tool, a); t.failed() {
				return
			}
		}
	}
	switch {
	case len(s.tools) == 0:
		t.skipf("it has no tools")
	case left > 0:
		t.passf("%d calls; %d tools that are marked as destructive were not called", calls, left)
	default:
		t.passf("%s", plural(calls, "call"))
	}
}

func (s *mcpSuite) toolResult(t *trial, what string, tool mcpTool, a *answer) {
	o, err := rawjson.Parse(a.result)
	if err != nil {
		t.failf("%s is answered with %s instead of an object", what, shown(a.result))
		return
	}
	if kind, _ := o.String("resultType"); kind != "" && kind != "complete" {
		return // it asks a question first
	}
	var content []struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(o.Get("content"), &content) != nil || o.Get("content") == nil {
		t.failf("%s is answered without a list content: %s", what, shown(a.result))
		return
	}
	for i, item := range content {
		if item.Type == "" {
			t.failf("%s: content[%d] has no type: %s", what, i, shown(a.result))
		}
	}
	failed := string(o.Get("isError"))
	if failed != "" && failed != "true" && failed != "false" {
		t.failf("%s: isError is neither true nor false: %s", what, shown(failed))
	}
	if compiled, faults := schema.Compile(tool.output); !rawjson.Missing(tool.output) && len(faults) == 0 && failed != "true" {
		structured := o.Get("structuredContent")
		if structured == nil {
			s.seen.note(sawContext, "%s is answered without structuredContent, and has an outputSchema", what)
		} else if errs := compiled.Check(structured); len(errs) > 0 {
			s.seen.note(sawContext, "%s: %s", what, errs[0].In("structuredContent"))
		}
	}
}

func (s *mcpSuite) outputs(t *trial) {
	declares := func(tool mcpTool) bool { return !rawjson.Missing(tool.output) }
	if !slices.ContainsFunc(s.tools, declares) {
		t.skipf("none of its tools has an outputSchema")
		return
	}
	summary(sawContext, "structured results fit")(t)
}

func (s *mcpSuite) unknownTool(t *trial) {
	a := s.ask(t, "a tool that does not exist", s.execute("conformance-no-such-tool", json.RawMessage(`{}`)))
	if t.failed() || a.err != nil {
		return
	}
	o, _ := rawjson.Parse(a.result) // without an object there is no error
	if string(o.Get("isError")) != "true" {
		t.failf("a tool that does not exist is answered as if it existed: %s", shown(a.result))
	}
}
