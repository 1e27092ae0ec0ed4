package codehook_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/adapter/codehook"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestAnswers compares the answers for each agent with a file, byte by byte. Empty answers are left
// out.
func TestAnswers(t *testing.T) {
	shown := []string{"deny", "rewrite", "another tool", "replace results", "add context", "answer a call", "drop the message", "crash, closed"}
	got := map[codehook.Agent]*strings.Builder{}
	for _, agent := range codehook.Agents() {
		got[agent] = &strings.Builder{}
	}
	for _, s := range samples(t, filepath.Join("testdata", "events")) {
		for _, b := range behaviours() {
			if slices.Contains(shown, b.name) {
				show(t, got[s.agent], s, b)
			}
		}
	}
	for agent, text := range got {
		compare(t, filepath.Join("testdata", "answers", string(agent)+".golden"), text.String())
	}
}

func show(t *testing.T, out *strings.Builder, s sample, b behaviour) {
	host := newTestBed(t, b.parts)
	if b.on != "" {
		host = newTestBed(t, b.parts, b.on)
	}
	r := s.parse(t).Fire(t.Context(), host)
	if s.quiet(r.Answer) && len(r.Notes) == 0 {
		return
	}
	fmt.Fprintf(out, "# %s: %s\n%s", s.name, b.name, r.Answer.Stdout)
	if r.Answer.ExitCode != 0 {
		fmt.Fprintf(out, "exit code %d\n", r.Answer.ExitCode)
	}
	for _, note := range r.Notes {
		fmt.Fprintf(out, "note: %s\n", strings.ReplaceAll(note, "\n", "\\n"))
	}
	out.WriteByte('\n')
}

func compare(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; run with -update and look at the change\ngot:\n%s", path, got)
	}
}
