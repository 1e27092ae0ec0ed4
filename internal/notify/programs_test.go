//go:build unix

package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/eventually"
	"github.com/patchbay-dev/patchbay/internal/proc"
)

// A started says how a fake program was started. The program writes it into its home directory.
type started struct {
	Args  []string
	Stdin string
	Env   []string
}

// fakes are the programs, by the name under which the test binary runs.
var fakes = map[string]func() int{"notify-send": fakeProgram, "osascript": fakeProgram, "powershell": fakeProgram}

// fakeProgram records how it was started, and then does what the file "misbehave" in its home says.
func fakeProgram() int {
	stdin, err := io.ReadAll(os.Stdin)
	data, err2 := json.Marshal(started{os.Args[1:], string(stdin), os.Environ()})
	home := os.Getenv("HOME")
	err3 := os.WriteFile(filepath.Join(home, filepath.Base(os.Args[0])+".json"), data, 0o600)
	if err := errors.Join(err, err2, err3); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 70
	}
	how, err := os.ReadFile(filepath.Join(home, "misbehave"))
	switch {
	case err != nil: // there is no such file
	case string(how) == "fail":
		fmt.Fprintln(os.Stderr, "execution error: hush-hush is not allowed (-1743)")
		return 1
	case string(how) == "hang":
		select {}
	}
	return 0
}

func newGroup(t testing.TB) *proc.Group {
	t.Helper()
	g := proc.NewGroup(nil)
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

// A machine is a testOptions with fake programs on its PATH.
type machine struct {
	*testOptions
	home string
}

func newMachine(t *testing.T, system string, programs ...string) *machine {
	t.Helper()
	m := &machine{testOptions: newTestOptions(map[string]string{"TO": "hush-hush"}), home: t.TempDir()}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range programs {
		if err := os.Link(self, filepath.Join(m.home, name)); err != nil {
			t.Fatal(err)
		}
	}
	m.Procs, m.System = newGroup(t), system
	m.Environ = []string{"PATH=" + m.home, "HOME=" + m.home, "SECRET_KEY=hush-hush", "LANG=C"}
	return m
}

func (m *machine) misbehave(t *testing.T, how string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(m.home, "misbehave"), []byte(how), 0o600); err != nil {
		t.Fatal(err)
	}
}

// started returns how a program was started last.
func (m *machine) started(t *testing.T, name string) started {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(m.home, name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var s started
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// evil returns a message whose texts look like code, an option and markup.
func evil() Message {
	return Message{Title: `-e "quoted" & more`, Body: "\" & (do shell script \"touch /tmp/x\") & \"\n<b>$(id)</b>"}
}

func TestIMessage(t *testing.T) {
	m := newMachine(t, "darwin", "osascript")
	n := m.notifier(t, IMessage, map[string]any{"to": "${TO}"})

	t.Run("texts are arguments, never part of the script", func(t *testing.T) {
		if err := n.Send(t.Context(), evil()); err != nil {
			t.Fatal(err)
		}
		got := m.started(t, "osascript")
		if want := []string{"-", "hush-hush", evil().Title + "\n" + evil().Body}; !slices.Equal(got.Args, want) {
			t.Errorf("got %q, want %q", got.Args, want)
		}
		if got.Stdin != imessageScript {
			t.Errorf("got the script %q", got.Stdin)
		}
	})
	t.Run("the program gets none of the host's secrets", func(t *testing.T) {
		got := m.started(t, "osascript").Env
		if hasNone(t, "the environment", strings.Join(got, " "), "SECRET_KEY"); !slices.Contains(got, "LANG=C") {
			t.Errorf("got %q", got)
		}
	})
	t.Run("reaching sends nothing", func(t *testing.T) {
		if err := n.Reach(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := m.started(t, "osascript"); len(got.Args) != 1 || strings.Contains(got.Stdin, "Messages") {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("a failure has the program's text, without secrets", func(t *testing.T) {
		m.misbehave(t, "fail")
		err := n.Send(t.Context(), evil())
		if want := `notifier imessage: osascript: exit code 1: "execution error: *** is not allowed (-1743)"`; err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	})
	t.Run("a program that hangs ends with the context", func(t *testing.T) {
		m.misbehave(t, "hang")
		ctx, cancel := context.WithCancel(t.Context())
		if err := os.Remove(filepath.Join(m.home, "osascript.json")); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- n.Send(ctx, evil()) }()
		eventually.True(t, "the program runs", func() bool {
			_, err := os.Stat(filepath.Join(m.home, "osascript.json"))
			return err == nil
		})
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a preview shows the text, and the recipient unless it comes from a variable", func(t *testing.T) {
		literal := m.notifier(t, IMessage, map[string]any{"to": "+15550100"})
		if p := n.Describe(evil()); p.Address != mask || p.Method != "osascript" || !strings.Contains(p.Body, evil().Body) {
			t.Errorf("got %+v", p)
		}
		if p := literal.Describe(evil()); p.Address != "+15550100" {
			t.Errorf("got %+v", p)
		}
	})
}

func TestDesktopPrograms(t *testing.T) {
	settings := map[string]any{
		"title": "agents", "subtitle": "disk", "sound": true, "urgency": "critical", "icon": "dialog-warning", "expire_ms": int64(5000),
	}
	t.Run("notify-send gets every setting, and texts that are neither options nor markup", func(t *testing.T) {
		m := newMachine(t, "linux", "notify-send")
		if err := m.notifier(t, Desktop, settings).Send(t.Context(), Message{Title: "--x", Body: "<b>1 & 2</b>"}); err != nil {
			t.Fatal(err)
		}
		want := []string{"--app-name=patchbay", "--urgency=critical", "--icon=dialog-warning", "--expire-time=5000",
			"--hint=string:sound-name:message-new-instant", "--", "agents", "disk\n--x\n&lt;b&gt;1 &amp; 2&lt;/b&gt;"}
		if got := m.started(t, "notify-send").Args; !slices.Equal(got, want) {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	})
	t.Run("osascript gets texts as arguments", func(t *testing.T) {
		m := newMachine(t, "darwin", "osascript")
		n := m.notifier(t, Desktop, settings)
		if err := n.Send(t.Context(), evil()); err != nil {
			t.Fatal(err)
		}
		got := m.started(t, "osascript")
		want := []string{"-", evil().Title + "\n" + evil().Body, "agents", "disk", "default"}
		if !slices.Equal(got.Args, want) || got.Stdin != appleScriptText {
			t.Errorf("got  %q\nwant %q", got.Args, want)
		}
		if notes := n.Describe(evil()).Notes; !slices.Equal(notes, []string{"urgency, icon, expire_ms: no effect on macOS"}) {
			t.Errorf("got %q", notes)
		}
	})
	t.Run("PowerShell gets texts as variables", func(t *testing.T) {
		m := newMachine(t, "windows", "powershell")
		n := m.notifier(t, Desktop, map[string]any{"sound": false})
		if err := n.Send(t.Context(), evil()); err != nil {
			t.Fatal(err)
		}
		got := m.started(t, "powershell")
		for _, want := range []string{"NOTIFY_TITLE=" + evil().Title, "NOTIFY_BODY=" + evil().Body, "NOTIFY_SILENT=1"} {
			if !slices.Contains(got.Env, want) {
				t.Errorf("no %q in %q", want, got.Env)
			}
		}
		if len(got.Args) != 4 || strings.ContainsAny(got.Args[3], "\"\n") || strings.Contains(got.Args[3], "do shell") {
			t.Errorf("got %q", got.Args)
		}
	})
	t.Run("without a process group there is no desktop", func(t *testing.T) {
		if _, err := New(Desktop, nil, Options{System: "linux"}); err == nil {
			t.Error("got no error")
		}
	})
}
