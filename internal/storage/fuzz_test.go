package storage

import (
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

// FuzzNamespace: no key belongs to two plugins.
func FuzzNamespace(tf *testing.F) {
	f := variants.Of(tf)
	for _, key := range []string{"a", "", "2/a", "a\x00b", "\xff", "../x"} {
		f.Add(key)
	}
	s := New(nil)
	one, other := s.Plugin("notes", Quota{}), s.Plugin("notes2", Quota{})
	f.Fuzz(func(t *testing.T, key string) {
		if strings.HasPrefix(one.prefix+key, other.prefix) || strings.HasPrefix(other.prefix+key, one.prefix) {
			t.Errorf("%q belongs to both plugins", key)
		}
	})
}
