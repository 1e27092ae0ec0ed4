package builtin

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/patchbay-dev/patchbay/adapter/chat"
	"github.com/patchbay-dev/patchbay/internal/excerpt"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/session"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// args are the arguments of a call.
type args map[string]any

// A bench is a working directory with the tools.
type bench struct {
	t     *testing.T
	dir   string
	tools map[string]chat.Tool

	mu   sync.Mutex // protects seen
	seen string     // the streamed output
}

func newBench(t *testing.T, o Options) *bench {
	t.Helper()
	b := &bench{t: t, dir: t.TempDir(), tools: make(map[string]chat.Tool)}
	if o.Procs == nil {
		o.Procs = proc.NewGroup(nil)
		t.Cleanup(func() {
			if err := o.Procs.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	for _, tool := range Tools(o) {
		b.tools[tool.Name] = tool
	}
	return b
}

// try calls a tool.
func (b *bench) try(ctx context.Context, name string, a args) (chat.ToolResult, error) {
	b.t.Helper()
	raw, err := json.Marshal(a)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.tools[name].Run(ctx, chat.Call{
		ID:        "call_1",
		Session:   session.Session{ID: "ses_1", WorkingDir: b.dir},
		Arguments: raw,
		Progress:  b.progress,
	})
}

func (b *bench) progress(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seen += text
}

func (b *bench) streamed() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.seen
}

// ok calls a tool that must succeed, and returns its output.
func (b *bench) ok(name string, a args) string {
	b.t.Helper()
	r, err := b.try(b.t.Context(), name, a)
	if err != nil || !r.Success || r.Error != "" {
		b.t.Fatalf("%s %v: %+v, %v", name, a, r, err)
	}
	return r.Output
}

// fails calls a tool that must fail with a result, and checks its error.
func (b *bench) fails(name string, a args, say ...string) chat.ToolResult {
	b.t.Helper()
	r, err := b.try(b.t.Context(), name, a)
	if err != nil || r.Success || r.Error == "" {
		b.t.Fatalf("%s %v: %+v, %v; want a failure", name, a, r, err)
	}
	contains(b.t, r.Error, say...)
	return r
}

func contains(t *testing.T, text string, wanted ...string) {
	t.Helper()
	for _, w := range wanted {
		if !strings.Contains(text, w) {
			t.Errorf("%q is not in %q", w, excerpt.Head(text, 2000))
		}
	}
}

// put writes a file below the working directory.
func (b *bench) put(name, content string) string {
	b.t.Helper()
	path := filepath.Join(b.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		b.t.Fatal(err)
	}
	return path
}

// has checks the content of a file.
func has(t *testing.T, path, want string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("%s has %q, %v; want %q", filepath.Base(path), got, err, want)
	}
}

// onlyThese checks that a directory has these names and no temporary files.
func onlyThese(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if strings.Join(names, " ") != strings.Join(want, " ") {
		t.Errorf("the directory has %q, want %q", names, want)
	}
}
