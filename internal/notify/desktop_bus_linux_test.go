package notify

import (
	"bufio"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/patchbay-dev/patchbay/internal/proc"
)

// A shown is a notification that a desktop was asked to show.
type shown struct {
	App, Icon, Title, Body string
	Hints                  map[string]any
	Expire                 int32
}

// screen is a desktop on a bus. Its exported methods are the specification's.
type screen struct {
	mu  sync.Mutex // protects the fields below
	can []string
	got []shown
}

func (s *screen) GetCapabilities() ([]string, *dbus.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.can, nil
}

func (s *screen) GetServerInformation() (name, vendor, version, spec string, e *dbus.Error) {
	return "screen", "test", "1", "1.2", nil
}

func (s *screen) Notify(app string, _ uint32, icon, title, body string, _ []string, hints map[string]dbus.Variant, expire int32) (uint32, *dbus.Error) {
	plain := map[string]any{}
	for name, v := range hints {
		plain[name] = v.Value()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = append(s.got, shown{app, icon, title, body, plain, expire})
	return 1, nil
}

// all returns the notifications shown so far.
func (s *screen) all() []shown {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got)
}

func (s *screen) last(t *testing.T) shown {
	t.Helper()
	all := s.all()
	if len(all) == 0 {
		t.Fatal("nothing was shown")
	}
	return all[len(all)-1]
}

// setCapabilities changes the capabilities of the desktop.
func (s *screen) setCapabilities(can ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.can = can
}

// startBus starts a real session bus and returns its directory, with the socket where systemd has
// it.
func startBus(t *testing.T, g *proc.Group) string {
	t.Helper()
	const daemon = "/usr/bin/dbus-daemon"
	if _, err := os.Stat(daemon); err != nil {
		t.Skip("no dbus-daemon here")
	}
	dir, err := os.MkdirTemp("", "bus") // short: a socket's path has 107 bytes at the most
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	p, err := g.Start(t.Context(), proc.Spec{
		Path: daemon, Args: []string{"--session", "--nofork", "--nopidfile", "--print-address=1", "--address=unix:path=" + filepath.Join(dir, "bus")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(p.Stdout()).ReadString('\n'); err != nil {
		t.Fatalf("%v: %s", err, p.Stderr())
	}
	return dir
}

// startScreen puts a desktop on a bus.
func startScreen(t *testing.T, dir string, can ...string) *screen {
	t.Helper()
	s := &screen{can: can}
	conn, err := dbus.Connect("unix:path=" + filepath.Join(dir, "bus"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := conn.Export(s, busPath, busName); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.RequestName(busName, dbus.NameFlagDoNotQueue); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestDesktopOnTheBus(t *testing.T) {
	m := newMachine(t, "linux", "notify-send")
	dir := startBus(t, m.Procs)
	m.Environ = append(m.Environ, "DBUS_SESSION_BUS_ADDRESS=tcp:host=127.0.0.1,port=1;unix:path="+filepath.Join(dir, "bus"))

	t.Run("a bus without a desktop leaves it to notify-send", func(t *testing.T) {
		if err := m.notifier(t, Desktop, nil).Send(t.Context(), evil()); err != nil {
			t.Fatal(err)
		}
		if got := m.started(t, "notify-send").Args; !slices.Contains(got, evil().Title) {
			t.Errorf("got %q", got)
		}
	})
	screen := startScreen(t, dir, "body", "body-markup")
	t.Run("every setting is sent", func(t *testing.T) {
		n := m.notifier(t, Desktop, map[string]any{
			"title": "agents", "subtitle": "disk", "sound": "bell", "urgency": "low", "icon": "dialog-warning", "expire_ms": int64(0),
		})
		if err := n.Send(t.Context(), Message{Title: "t", Body: "<b>1 & 2</b>"}); err != nil {
			t.Fatal(err)
		}
		want := shown{"patchbay", "dialog-warning", "agents", "disk\nt\n&lt;b&gt;1 &amp; 2&lt;/b&gt;",
			map[string]any{"urgency": byte(0), "sound-name": "bell"}, 0}
		if got := screen.last(t); !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
	})
	t.Run("the desktop decides what is not set", func(t *testing.T) {
		if err := m.notifier(t, Desktop, map[string]any{"sound": false}).Send(t.Context(), Message{Agent: "a", Event: Success}); err != nil {
			t.Fatal(err)
		}
		want := shown{App: "patchbay", Title: "a succeeded", Hints: map[string]any{"suppress-sound": true}, Expire: -1}
		if got := screen.last(t); !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
	})
	t.Run("a desktop that reads no markup gets the text as it is", func(t *testing.T) {
		screen.setCapabilities("body")
		if err := m.notifier(t, Desktop, nil).Send(t.Context(), Message{Title: "t", Body: "1 < 2"}); err != nil {
			t.Fatal(err)
		}
		if got := screen.last(t).Body; got != "1 < 2" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("reaching shows nothing", func(t *testing.T) {
		before := len(screen.all())
		if err := m.notifier(t, Desktop, nil).Reach(t.Context()); err != nil || len(screen.all()) != before {
			t.Errorf("got %v, %+v", err, screen.all())
		}
	})
	t.Run("the bus is found where systemd puts it", func(t *testing.T) {
		m.Environ = []string{"XDG_RUNTIME_DIR=" + dir}
		if err := m.notifier(t, Desktop, nil).Send(t.Context(), Message{Title: "found"}); err != nil {
			t.Fatal(err)
		}
		if got := screen.last(t).Title; got != "found" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("a preview names the bus", func(t *testing.T) {
		p := m.notifier(t, Desktop, map[string]any{"subtitle": "disk"}).Describe(evil())
		if p.Method != "D-Bus" || p.Address != busName || !strings.HasPrefix(p.Body, evil().Title+"\ndisk\n") {
			t.Errorf("got %+v", p)
		}
	})
}

func TestSilentBus(t *testing.T) {
	dir, err := os.MkdirTemp("", "bus")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	l, err := net.Listen("unix", filepath.Join(dir, "bus"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	m := newMachine(t, "linux", "notify-send")
	m.Environ = append(m.Environ, "XDG_RUNTIME_DIR="+dir)
	n := m.notifier(t, Desktop, nil)

	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- n.Send(ctx, evil()) }()
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	cancel()
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	case <-time.After(patience):
		t.Error("the sender waits for a bus that does not answer")
	}
}

func TestWithoutADesktopTheErrorHasEveryReason(t *testing.T) {
	n := newMachine(t, "linux").notifier(t, Desktop, nil)
	for _, err := range []error{n.Send(t.Context(), evil()), n.Reach(t.Context())} {
		if err == nil || !strings.Contains(err.Error(), "DBUS_SESSION_BUS_ADDRESS") || !strings.Contains(err.Error(), "notify-send") {
			t.Errorf("got %v", err)
		}
	}
}

// TestReachFailsWithoutADesktop: Reach fails without a desktop, although notify-send --version
// works.
func TestReachFailsWithoutADesktop(t *testing.T) {
	m := newMachine(t, "linux", "notify-send")
	if err := m.notifier(t, Desktop, nil).Reach(t.Context()); err == nil || !strings.Contains(err.Error(), "there is no desktop") {
		t.Errorf("without a bus and a display: %v", err)
	}
	m.Environ = append(m.Environ, "DISPLAY=:0")
	if err := m.notifier(t, Desktop, nil).Reach(t.Context()); err != nil {
		t.Errorf("with a display, which leads it to a bus: %v", err)
	}
}
