package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestAPluginsCommandHasTheTerminal: stdout and stderr are the terminal, and the program is in the
// foreground process group. Stdin is the invocation, so the program asks on /dev/tty. With stdin =
// "user" in the manifest, stdin is the terminal itself.
func TestAPluginsCommandHasTheTerminal(t *testing.T) {
	for rule, c := range map[string]struct{ manifest, begin, from string }{
		"stdin is the invocation":         {"", "invocation=$(cat)", "</dev/tty"},
		"stdin is the user's if declared": {"stdin = \"user\"\n", "invocation=$MINE_INVOCATION; [ -t 0 ] || exit 7", ""},
	} {
		t.Run(rule, func(t *testing.T) {
			program := "#!/bin/sh\n" + c.begin + `
case $invocation in *'"type":"command","command":"ask","args":["--now"]'*) ;; *) exit 0 ;; esac
[ -t 1 ] && [ -t 2 ] || { echo 'no terminal'; exit 9; }
printf 'your name? '
read -r name ` + c.from + ` || exit 8
echo "hello $name"
exit 4
`
			home := askerIn(t, c.manifest, program)
			askAtTerminal(t, home, "your name? ", "Ada\n", "hello Ada", 4)
		})
	}
}

// TestCtrlCReachesAPluginsCommand: the program handles Ctrl-C itself, and it knows the size of the
// window.
func TestCtrlCReachesAPluginsCommand(t *testing.T) {
	askAtTerminal(t, askerIn(t, "", `#!/bin/sh
case $(cat) in *'"type":"command"'*) ;; *) exit 0 ;; esac
trap 'echo not today; exit 5' INT
stty size </dev/tty
while :; do sleep 0.05; done
`), "24 80", "\x03", "not today", 5)
}

// TestPluginsThatAreNotAtTheTerminalCannotAsk: a plugin that runs on pipes has no /dev/tty.
// Otherwise the kernel would stop it when it reads from there, and it would wait without a visible
// reason.
func TestPluginsThatAreNotAtTheTerminalCannotAsk(t *testing.T) {
	home := askerIn(t, "", `#!/bin/sh
case $(cat) in *'"type":"command"'*) ;; *) exit 0 ;; esac
echo 'your name? '
read -r name </dev/tty || exit 6
`)
	askAtTerminal(t, home, "your name? ", "Ada\n", "/dev/tty", 6, "--json")
}

// TestNoSessionToChoose: without any session there is no list, and the error says so.
func TestNoSessionToChoose(t *testing.T) {
	_, s, end := atTerminal(t, patchbayIn(t.TempDir(), "chat", "--resume"))
	if code := end(); code != 4 {
		t.Errorf("exit code %d", code)
	}
	await(t, func() bool {
		return strings.Contains(s.String(), "there is no session to continue yet") && strings.Contains(s.String(), "`patchbay chat` begins one")
	})
}

// askerIn makes a home with a plugin that has one command.
func askerIn(t *testing.T, more, program string) (home string) {
	t.Helper()
	home = t.TempDir()
	dir := filepath.Join(home, ".local/share/mine/plugins/asker")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"mine-plugin.toml": "[plugin]\nname = \"asker\"\nversion = \"1.0.0\"\ndescription = \"asks\"\nauthor = \"a\"\nprotocol_version = \"1.0.0\"\n" +
			"[[commands]]\nname = \"ask\"\ndescription = \"asks\"\n" + more,
		"mine-plugin-asker": program,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return home
}

// askAtTerminal runs the plugin's command at a terminal of 24 lines. When the cue is on the screen
// it types keys. It checks the screen and the exit code.
func askAtTerminal(t *testing.T, home, cue, keys, shown string, code int, flags ...string) {
	t.Helper()
	master, screen, end := atTerminal(t, patchbayIn(home, append(flags, "asker", "ask", "--now")...))
	await(t, func() bool { return strings.Contains(screen.String(), cue) })
	if _, err := master.WriteString(keys); err != nil {
		t.Fatal(err)
	}
	if got := end(); got != code {
		t.Fatalf("exit code %d, on the screen: %q", got, screen)
	}
	if !strings.Contains(screen.String(), shown) {
		t.Errorf("%q is not on the screen: %q", shown, screen)
	}
}

// A screen is the output on a terminal.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// atTerminal starts a command at a terminal of 24 lines. end waits until the command has ended and
// its output has been read to the last byte.
func atTerminal(t *testing.T, cmd *exec.Cmd) (master *os.File, s *screen, end func() int) {
	t.Helper()
	return atTerminalOf(t, cmd, &unix.Winsize{Row: 24, Col: 80})
}

// atTerminalOf starts a command at a terminal of a size.
func atTerminalOf(t *testing.T, cmd *exec.Cmd, size *unix.Winsize) (master *os.File, s *screen, end func() int) {
	t.Helper()
	master, slave := openPair(t)
	if err := unix.IoctlSetWinsize(int(slave.Fd()), unix.TIOCSWINSZ, size); err != nil {
		t.Fatal(err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// The output ends if no process has the terminal open, this one included.
	if err := slave.Close(); err != nil {
		t.Fatal(err)
	}
	s, read := watch(master)
	ended := sync.OnceFunc(func() {
		_ = cmd.Wait() // the caller checks the exit code
		<-read
	})
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // fails if the command has ended
		ended()
	})
	return master, s, func() int {
		ended()
		return cmd.ProcessState.ExitCode()
	}
}

// watch reads the output on a terminal until it is closed.
func watch(master *os.File) (s *screen, done <-chan struct{}) {
	s, read := new(screen), make(chan struct{})
	go func() {
		defer close(read)
		buffer := make([]byte, 4096)
		// If the last process writes and ends just when this one reads, Linux may report the end
		// before these bytes. Another read returns them.
		for ends := 0; ends < 2; {
			n, err := master.Read(buffer)
			s.mu.Lock()
			s.text.Write(buffer[:n])
			s.mu.Unlock()
			if err != nil {
				ends++
			}
		}
	}()
	return s, read
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
	return master, slave
}
