//go:build unix

package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// TestPlacesThatCannotBeWritten: doctor names each of our directories that cannot be written, with
// the directory whose rights must change.
func TestPlacesThatCannotBeWritten(t *testing.T) {
	home := t.TempDir()
	file := filepath.Join(home, ".local", "state")
	if err := os.Mkdir(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	wantFindings(t, home, "", exitFailed, filepath.Join(file, "patchbay"))
	if there, err := unwritable(filepath.Join(file, "patchbay")); there != file || placeFix(there, err) != "move that file away, or set $PATCHBAY_HOME to a directory that your user can write to" {
		t.Errorf("%s: %v", there, err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	wantFindings(t, home, "", exitOK)
	if os.Geteuid() == 0 {
		return // root may write everywhere: TestAgainAsNobody tries the rest
	}
	if err := os.Chmod(home, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(home, 0o700) }) // the next lines report it
	own := filepath.Join(home, "own")
	wantFindings(t, home, own, exitFailed, filepath.Join(own, "data"), filepath.Join(own, "state"))
}

// wantFindings runs doctor and compares the places of its findings.
func wantFindings(t *testing.T, home, patchbayHome string, code int, places ...string) {
	t.Helper()
	c := newConsole(t, "HOME="+home, "PATCHBAY_HOME="+patchbayHome)
	if got := c.run("doctor", "--json"); got != code {
		t.Fatalf("exit code %d: %s", got, c.err.String())
	}
	var d diagnosis
	if err := json.Unmarshal(c.out.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Findings) != len(places) {
		t.Fatalf("findings %+v, want %v", d.Findings, places)
	}
	for i, f := range d.Findings {
		if f.Where != places[i] || f.Fix == "" {
			t.Errorf("finding %+v, want %s", f, places[i])
		}
	}
}
