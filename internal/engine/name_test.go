package engine

import (
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

// TestEncode: slashes separate tokens, and every character that a subject cannot have is escaped.
func TestEncode(t *testing.T) {
	for text, want := range map[string]string{
		"":         "=",
		"a-B_9":    "a-B_9",
		"a/b":      "a.b",
		"a.b":      "a=2Eb",
		"/":        "=.=",
		"a//b":     "a.=.b",
		"*":        "=2A",
		">":        "=3E",
		"é":        "=C3=A9",
		"=":        "=3D",
		"two word": "two=20word",
	} {
		if got := encode(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestDecodeRefusesForeignNames(t *testing.T) {
	for _, tail := range []string{"", "a..b", "=2", "=zz", "=61", "=2e", "a b", "a.=.", "=="} {
		if text, err := decode(tail); err == nil {
			t.Errorf("%q is %q", tail, text)
		}
	}
}

func FuzzEncode(tf *testing.F) {
	f := variants.Of(tf)
	for _, s := range []string{"", "a", "a/b.c", "//", "=", "\x00\xff", "日本 *>"} {
		f.Add(s, "x")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if back, err := decode(encode(a)); err != nil || back != a {
			t.Errorf("%q comes back as %q, %v", a, back, err)
		}
		if a != b && encode(a) == encode(b) {
			t.Errorf("%q and %q have the same encoding", a, b)
		}
		if tail := encode(a); strings.ContainsAny(tail, " *>\t\r\n\x00") || strings.Contains("."+tail+".", "..") {
			t.Errorf("%q becomes %q, which is not a subject", a, tail)
		}
	})
}

func FuzzDecode(tf *testing.F) {
	f := variants.Of(tf)
	for _, s := range []string{"", "a.b", "=2E", "=", "=.=", "=2", "=zz"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, tail string) {
		if text, err := decode(tail); err == nil && encode(text) != tail {
			t.Errorf("%q is decoded as %q, which has another encoding", tail, text)
		}
	})
}
