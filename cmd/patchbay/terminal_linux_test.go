package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unsafe"
)

// TestAPluginsCommandHasTheTerminal: stdout and stderr are the user's, the program is in the foreground process group, and it
// can ask a question on the terminal. Stdin has the invocation, and ends.
func TestAPluginsCommandHasTheTerminal(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, ".local/share/mine/plugins/asker")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"mine-plugin.toml": "[plugin]\nname = \"asker\"\nversion = \"1.0.0\"\ndescription = \"asks\"\nauthor = \"a\"\nprotocol_version = \"1.0.0\"\n" +
			"[[commands]]\nname = \"ask\"\ndescription = \"asks\"\n",
		"mine-plugin-asker": `#!/bin/sh
invocation=$(cat)
case $invocation in *'"type":"command"'*) ;; *) exit ;; esac
[ -t 1 ] && [ -t 2 ] || { echo 'no terminal'; exit 9; }
printf 'your name? '
read -r name </dev/tty || exit 8
echo "hello $name"
exit 4
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	master, slave := openPair(t)
	cmd := patchbayIn(home, "asker", "ask")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	screen := watch(master)
	await(t, func() bool { return strings.Contains(screen.String(), "your name? ") })
	if _, err := master.WriteString("Ada\n"); err != nil {
		t.Fatal(err)
	}
	err := cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 4 {
		t.Errorf("exit code %d (%v)", code, err)
	}
	await(t, func() bool { return strings.Contains(screen.String(), "hello Ada") })
}

// A screen is what a terminal shows.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// watch reads what is written to a terminal until it is closed.
func watch(master *os.File) *screen {
	s := new(screen)
	go func() {
		buffer := make([]byte, 4096)
		for {
			n, err := master.Read(buffer)
			s.mu.Lock()
			s.text.Write(buffer[:n])
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return s
}

// openPair makes a pair of terminals.
func openPair(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminals here: ", err)
	}
	t.Cleanup(func() { master.Close() })
	var number, locked uint32
	control := func(request uintptr, value *uint32) {
		t.Helper()
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, master.Fd(), request, uintptr(unsafe.Pointer(value))); errno != 0 {
			t.Fatal(errno)
		}
	}
	control(syscall.TIOCGPTN, &number)
	control(syscall.TIOCSPTLCK, &locked)
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminals here: ", err)
	}
	t.Cleanup(func() { slave.Close() })
	return master, slave
}
