package sandbox

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

func TestProbe(t *testing.T) {
	g := newGroup(t)
	s := Probe(t.Context(), g)
	t.Logf("%+v", *s)
	if (s.Landlock == nil) != (landlockVersion() > 0) && s.Namespaces == nil {
		t.Errorf("Landlock %d: %v", landlockVersion(), s.Landlock)
	}
	if s.Scoped != (landlockVersion() >= 6) {
		t.Errorf("Landlock %d: scoped %v", landlockVersion(), s.Scoped)
	}
	t.Run("what it reports as available can be used", func(t *testing.T) {
		if s.Possible() != nil {
			t.Skip(s.Possible())
		}
		expect(t, sh(Options{System: s}, "echo ran"), "ran")
	})
	t.Run("if the context has ended, that is the reason", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if s := Probe(ctx, g); s.Namespaces == nil {
			t.Error("it reports namespaces without a probe")
		}
	})
}

// TestProbeWithoutABar: if loaders cannot be barred, Probe says so, and the rest is available.
func TestProbeWithoutABar(t *testing.T) {
	needNamespaces(t)
	needLandlock(t)
	self := exec.Command("/proc/self/exe", "-fake", "probes")
	me := func(host int) []syscall.SysProcIDMap { // an ordinary user, also if root runs the test
		return []syscall.SysProcIDMap{{ContainerID: 1000, HostID: host, Size: 1}}
	}
	self.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, UidMappings: me(os.Geteuid()), GidMappings: me(os.Getegid())}
	out, err := self.CombinedOutput()
	if text := string(out); err != nil || !strings.HasPrefix(text, "<nil> <nil> partial in its sandbox: ") || !strings.HasSuffix(text, "\nran\n") {
		t.Errorf("%v: %s", err, out)
	}
}
