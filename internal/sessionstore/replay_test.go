package sessionstore

import (
	"reflect"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/session"
)

// TestReplay checks that a conversation that is read without sequence numbers equals the one that
// is read with them.
func TestReplay(t *testing.T) {
	s := newStore(t)
	ctx := t.Context()
	raw := func(t *testing.T, id string, lines ...string) {
		t.Helper()
		for _, line := range lines {
			if _, err := s.opened.transcripts.Append(ctx, engine.Append{Topic: id, Data: []byte(line)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		name    string
		write   func(t *testing.T, id string)
		numbers bool // replay cannot read it without the numbers
	}{
		{"turns", func(t *testing.T, id string) { converse(t, s, id, "a"); converse(t, s, id, "b\n\"ü\"") }, false},
		{"a turn with tools", func(t *testing.T, id string) {
			turn := begin(t, s, id, BeginOptions{})
			appendTo(t, turn, user("list"), calling("1", "2"), result("1"), model.Message{Role: model.ToolRole, ToolCallID: "2", Name: "shell", Failed: true})
			end(t, turn, session.Failed)
		}, false},
		{"turns behind a compaction", func(t *testing.T, id string) {
			converse(t, s, id, "a")
			compact(t, s, id)
			compact(t, s, id)
			converse(t, s, id, "b")
		}, false},
		{"a compaction in the last turn", func(t *testing.T, id string) { converse(t, s, id, "a"); compact(t, s, id) }, false},
		{"lines of an earlier version", func(t *testing.T, id string) {
			raw(t, id, `{"turn":"t","status":"began"}`, `{"turn":"t","message":{"role":"user","content":"old"}}`, `{"turn":"t","status":"done"}`)
		}, false},
		{"a compaction of an earlier version", func(t *testing.T, id string) {
			raw(t, id, `{"turn":"t","compaction":{"messages":[{"role":"user","content":"short"}]}}`, `{"turn":"t","status":"done"}`)
		}, true},
		{"a wrong place of a compaction", func(t *testing.T, id string) {
			converse(t, s, id, "a")
			now, err := s.opened.load(ctx, id)
			if err != nil {
				t.Fatal(err)
			}
			text, err := (&state{base: now.last, earlier: 7}).encode(session.Entry{Turn: "t", Status: session.Done}, nil)
			if err != nil {
				t.Fatal(err)
			}
			raw(t, id, string(text))
		}, true},
		{"an open turn", func(t *testing.T, id string) {
			converse(t, s, id, "a")
			appendTo(t, begin(t, s, id, BeginOptions{}), user("b"))
		}, true},
		{"an entry that is broken", func(t *testing.T, id string) { raw(t, id, `{"turn":"t"}`, `{"turn":"t","status":"done"}`) }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			id := create(t, s, session.Session{Title: "x"}).ID
			c.write(t, id)
			newest, err := s.opened.transcripts.Newest(ctx, id)
			if err != nil {
				t.Fatal(err)
			}
			last, err := decodeKept(newest)
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.opened.replay(ctx, id, last)
			if err != nil || (got == nil) != c.numbers {
				t.Fatalf("got %+v, %v", got, err)
			}
			want := &state{}
			if err := s.opened.play(ctx, id, want, last); got != nil && (err != nil || !reflect.DeepEqual(got, want)) {
				t.Errorf("got  %+v\nwant %+v, %v", got, want, err)
			}
		})
	}
}
