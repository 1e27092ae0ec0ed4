package sandbox

import (
	"context"
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
	t.Run("what it says can be had", func(t *testing.T) {
		if s.Possible() != nil {
			t.Skip(s.Possible())
		}
		expect(t, sh(Options{System: s}, "echo ran"), "ran")
	})
	t.Run("a context that has ended is the reason", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if s := Probe(ctx, g); s.Namespaces == nil {
			t.Error("found namespaces without looking")
		}
	})
}
