package plugtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Shared by the fakes of dialects that start a plugin for each call. A behaviour is what a fake
// does instead of an answer; it returns the exit code.

// Says returns a behaviour that prints two texts and ends.
func Says(stdout, stderr string, code int) func() int {
	return func() int {
		fmt.Fprint(os.Stderr, stderr)
		fmt.Print(stdout)
		return code
	}
}

// Hang sleeps. The runtime would end a program whose goroutines all wait for nothing.
func Hang() int {
	time.Sleep(time.Hour)
	return 0
}

// KillSelf ends by a signal that cannot be caught.
func KillSelf() int {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "fake: kill:", err)
		return 98
	}
	return Hang() // until the signal arrives
}

// callsFile is where the fakes below one home record their calls.
const callsFile = "calls"

// Record appends a text to the record in the home of the fake that calls it. It adds no newline, so
// that a missing one shows.
func Record(text string) {
	f, err := os.OpenFile(filepath.Join(os.Getenv("HOME"), callsFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err) // the fake's own home
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		panic(err)
	}
}

// Recorded returns the lines that the fakes below home recorded, in order.
func Recorded(t testing.TB, home string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(home, callsFile))
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}

// InstallSelf copies the test binary to a path.
func InstallSelf(t testing.TB, path string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if os.Link(self, path) == nil {
		return
	}
	data, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o755); err != nil {
		t.Fatal(err)
	}
}
