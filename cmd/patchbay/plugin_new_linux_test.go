package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestPluginNewAsksAtATerminal: `plugin new` asks for everything that the command line does not
// say. It asks again after an invalid name, and shows the whole reason on a narrow terminal. At the
// end nothing of the form is left on the screen.
func TestPluginNewAsksAtATerminal(t *testing.T) {
	home := t.TempDir()
	master, slave := openPair(t)
	if err := unix.IoctlSetWinsize(int(slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 64}); err != nil {
		t.Fatal(err)
	}
	cmd := patchbayIn(home, "plugin", "new", "--lang", "bash")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	screen := watch(master)
	answer := func(question, text string) {
		t.Helper()
		await(t, func() bool { return strings.Contains(screen.String(), question) || len(ended) > 0 })
		if _, err := master.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	answer("Which dialect?", "\x1b[B\r") // the second: kaged
	answer("Name of the plugin", "kaged\r")
	answer("reserved", "One\r")
	answer("hyphens", "\x15kaged-one\r")
	for word := range strings.FieldsSeq(`is not a valid name for a kaged plugin in bash: lower-case letters and digits, a letter first, single hyphens between; try`) {
		if !strings.Contains(screen.String(), word) {
			t.Errorf("%q is not on the screen: %q", word, screen)
		}
	}
	if err := <-ended; err != nil {
		t.Fatalf("%v, on the screen: %q", err, screen)
	}
	await(t, func() bool { return strings.Contains(screen.String(), "./kaged-one, a kaged plugin in bash") })
	if _, err := os.Stat(filepath.Join(home, "kaged-one", "manifest.yaml")); err != nil {
		t.Error(err)
	}
}
