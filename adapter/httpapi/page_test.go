package httpapi

import (
	"errors"
	"net/url"
	"testing"
)

// TestCursor: a cursor is safe in a URL and gives back its place. Any other text, and a cursor of
// another list, is refused.
func TestCursor(t *testing.T) {
	for _, place := range []string{"1", "a/b c?&=", "ü\x00\xff"} {
		c := Cursor("runs", place)
		if url.QueryEscape(c) != c {
			t.Errorf("%q is not safe in a URL", c)
		}
		if got, err := Place("runs", c); err != nil || got != place {
			t.Errorf("%q became %q, %v", place, got, err)
		}
	}
	if got, err := Place("runs", ""); err != nil || got != "" {
		t.Errorf("no cursor: %q, %v", got, err)
	}
	for name, c := range map[string]string{
		"of another list": Cursor("traces", "1"),
		"with no place":   Cursor("runs", ""),
		"a number":        "17",
		"not base64":      "%%%",
		"cut":             Cursor("runs", "12")[:4],
		"padded":          Cursor("runs", "12345") + "=",
	} {
		if _, err := Place("runs", c); !isInvalid(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func isInvalid(err error) bool {
	_, ok := errors.AsType[*InvalidRequestError](err)
	return ok
}
