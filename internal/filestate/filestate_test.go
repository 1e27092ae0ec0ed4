package filestate

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

func stateOf(t *testing.T, path string) State {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return Of(info)
}

// TestStates: every change of a file gives it another state, even if the modification time is set
// back afterwards, where the system reports the time of change.
func TestStates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(path, "one")
	old := time.Now().Add(-time.Hour)
	setTime := func() {
		t.Helper()
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	setTime()
	before := stateOf(t, path)
	if again := stateOf(t, path); again != before {
		t.Errorf("unchanged, but %+v and %+v", before, again)
	}
	write(path, "longer")
	if stateOf(t, path) == before {
		t.Error("the same state with another size")
	}
	write(path, "one")
	if stateOf(t, path) == before {
		t.Error("the same state at another time")
	}
	setTime()
	if now := stateOf(t, path); before.Certain() && now == before {
		t.Error("the same state after the time was set back")
	}
	other := path + "2"
	write(other, "two")
	if err := os.Rename(other, path); err != nil {
		t.Fatal(err)
	}
	setTime()
	if now := stateOf(t, path); now.Certain() && now.Inode == before.Inode {
		t.Error("the same number for another file")
	}
	if runtime.GOOS == "linux" && !before.Certain() {
		t.Error("Linux reports the time of change")
	}
}

// TestLast: a file that was given an old time was still changed now.
func TestLast(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	s := stateOf(t, path)
	if s.Certain() && time.Since(s.Last()) > time.Minute {
		t.Errorf("last changed %s", s.Last())
	}
	if got := (State{Modified: old.UnixNano()}).Last(); !got.Equal(old) {
		t.Errorf("without a time of change: %s, want %s", got, old)
	}
}
