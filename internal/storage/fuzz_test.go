package storage

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/patchbay-dev/patchbay/internal/entry"
	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

// FuzzEntry: a key or a value that a plugin may not store is refused with [ErrKey] or [ErrValue],
// and no key belongs to two plugins.
func FuzzEntry(tf *testing.F) {
	f := variants.Of(tf)
	for _, seed := range [][2]string{{"a", "1"}, {"", "null"}, {"a\x00b", "{}"}, {"\xff", "["}, {strings.Repeat("k", entry.MaxKey+1), `"v"`}, {"../x", "\"\xff\""}} {
		f.Add(seed[0], seed[1])
	}
	s := New(nil)
	one, other := s.Plugin("notes", Quota{}), s.Plugin("notes2", Quota{})
	f.Fuzz(func(t *testing.T, key, value string) {
		if err := entry.CheckKey(key); (err == nil) != (key != "" && len(key) <= entry.MaxKey && utf8.ValidString(key)) || err != nil && !errors.Is(err, ErrKey) {
			t.Errorf("%q: %v", key, err)
		}
		if err := entry.CheckValue(json.RawMessage(value)); (err == nil) != (json.Valid([]byte(value)) && len(value) <= entry.MaxValue) || err != nil && !errors.Is(err, ErrValue) {
			t.Errorf("%q: %v", value, err)
		}
		if strings.HasPrefix(one.prefix+key, other.prefix) || strings.HasPrefix(other.prefix+key, one.prefix) {
			t.Errorf("%q belongs to both plugins", key)
		}
	})
}
