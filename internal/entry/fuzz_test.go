package entry

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

// FuzzEntry: a key or a value that a plugin may not store is refused with [ErrKey] or [ErrValue].
func FuzzEntry(tf *testing.F) {
	f := variants.Of(tf)
	for _, seed := range [][2]string{{"a", "1"}, {"", "null"}, {"a\x00b", "{}"}, {"\xff", "["}, {strings.Repeat("k", MaxKey+1), `"v"`}, {"../x", "\"\xff\""}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, key, value string) {
		if err := CheckKey(key); (err == nil) != (key != "" && len(key) <= MaxKey && utf8.ValidString(key)) || err != nil && !errors.Is(err, ErrKey) {
			t.Errorf("%q: %v", key, err)
		}
		if err := CheckValue(json.RawMessage(value)); (err == nil) != (json.Valid([]byte(value)) && len(value) <= MaxValue) || err != nil && !errors.Is(err, ErrValue) {
			t.Errorf("%q: %v", value, err)
		}
	})
}
