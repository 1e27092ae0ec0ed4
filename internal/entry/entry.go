// Package entry defines what a plugin may store: which keys and values, and how much. Every storage
// of Patchbay checks keys, values and quotas with it, so that plugins meet the same limits and
// errors in each of them. It stores nothing itself.
package entry

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/patchbay-dev/patchbay/rawjson"
)

// Limits of one key and its value.
const (
	MaxKey   = 512     // bytes: longer than most paths, short enough to list by the thousand
	MaxValue = 4 << 20 // bytes: a kaged message has at most 4 MB, so nothing larger can arrive (docs/protocols/kaged.md)
)

// The mistakes of a plugin. All other errors are failures of the storage.
var (
	ErrKey   = errors.New("not a storage key")
	ErrValue = errors.New("not a storable value")
	ErrFull  = errors.New("storage is full")
)

// CheckKey refuses a key that is empty, too long or not UTF-8, with [ErrKey].
func CheckKey(key string) error {
	switch {
	case key == "":
		return fmt.Errorf("%w: it is empty", ErrKey)
	case len(key) > MaxKey:
		return fmt.Errorf("%w: %d bytes, at most %d are allowed", ErrKey, len(key), MaxKey)
	case !utf8.ValidString(key):
		return fmt.Errorf("%w: %.80q is not UTF-8", ErrKey, key)
	}
	return nil
}

// CheckValue refuses a value that is too large or not JSON, with [ErrValue].
func CheckValue(value json.RawMessage) error {
	if len(value) > MaxValue {
		return fmt.Errorf("%w: %d bytes, at most %d are allowed", ErrValue, len(value), MaxValue)
	}
	if err := rawjson.Check(value); err != nil {
		return fmt.Errorf("%w: %w", ErrValue, err)
	}
	return nil
}
