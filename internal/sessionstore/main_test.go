package sessionstore

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/engine/enginetest/embedded"
	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/session"
)

// TestMain runs the tests, or one of the fakes if the binary was started as "binary -fake NAME
// ARG…".
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "-fake" {
		if err := fakes[os.Args[2]](os.Args[3:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// shortTTL is the period of leases in tests that wait until a lease expires. A turn that goes on
// must renew its lease within it, even if the disk is busy.
const shortTTL = 2 * time.Second

// newStore returns a store on its own engine.
func newStore(t testing.TB) *Store {
	t.Helper()
	return New(embedded.Engine(t, t.TempDir()))
}

// shortLived returns a store whose leases expire soon.
func shortLived(e engine.Store) *Store {
	s := New(e)
	s.ttl = shortTTL
	return s
}

func create(t testing.TB, s *Store, n session.Session) session.Session {
	t.Helper()
	made, err := s.Create(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func begin(t testing.TB, s *Store, id string, o BeginOptions) *Turn {
	t.Helper()
	turn, err := s.Begin(t.Context(), id, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = turn.End(context.Background(), session.Failed) }) // ends the goroutine of a test that failed
	return turn
}

func appendTo(t testing.TB, turn *Turn, messages ...model.Message) {
	t.Helper()
	if err := turn.Append(t.Context(), messages...); err != nil {
		t.Fatal(err)
	}
}

func end(t testing.TB, turn *Turn, status session.Status) {
	t.Helper()
	if err := turn.End(t.Context(), status); err != nil {
		t.Fatal(err)
	}
}

func say(role model.Role, text string) model.Message { return model.Message{Role: role, Content: text} }

func user(text string) model.Message { return say(model.User, text) }

// calling returns an assistant's message with tool calls of these ids.
func calling(ids ...string) model.Message {
	m := say(model.Assistant, "")
	for _, id := range ids {
		m.ToolCalls = append(m.ToolCalls, model.ToolCall{ID: id, Name: "shell", Arguments: []byte(`{"cmd":"ls"}`)})
	}
	return m
}

func result(id string) model.Message {
	return model.Message{Role: model.ToolRole, ToolCallID: id, Name: "shell", Content: "done"}
}

// outline returns a transcript in short form: "began user assistant tool(failed) done".
func outline(t testing.TB, s *Store, id string) string {
	t.Helper()
	entries, err := s.Transcript(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, e := range entries {
		text += " " + short(e)
	}
	if text == "" {
		return ""
	}
	return text[1:]
}

func short(e session.Entry) string {
	switch {
	case e.Compaction != nil:
		return "compaction"
	case e.Message != nil && e.Message.Failed:
		return string(e.Message.Role) + "(failed)"
	case e.Message != nil:
		return string(e.Message.Role)
	}
	return string(e.Status)
}
