package mcp

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/adapter"
)

// TestAChangeOfToolsIsNotDropped: plugins that report many changed resources do not keep a change
// of tools out of the queue.
func TestAChangeOfToolsIsNotDropped(t *testing.T) {
	s := &Server{changes: make(chan hostChange, 2)}
	for range 3 {
		s.queueChange(Resource, "memo://one")
	}
	s.queueChange(Tools, "")
	if first, second := <-s.changes, <-s.changes; first.kind != Resource || second.kind != Tools {
		t.Errorf("the queue has %v and %v", first, second)
	}
}

// TestAnInvalidDefinitionIsRemoved: if the definition of a tool becomes invalid, clients do not see
// the earlier one.
func TestAnInvalidDefinitionIsRemoved(t *testing.T) {
	f := &fake{tools: []adapter.Tool{echo("one"), echo("two")}}
	s := client(t, Options{Host: f}, true, nil)
	f.mu.Lock()
	f.tools[0].Definition = json.RawMessage(`{"name":7}`)
	f.mu.Unlock()
	f.tell(Tools, "")
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		list, err := s.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(list.Tools) == 1 && list.Tools[0].Name == "two" {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d tools are listed", len(list.Tools))
		}
	}
}
