package rawjson

import (
	"bytes"
	"errors"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

// searches are the two ways to find the end of a run and of a string. On some systems they are the
// same.
var searches = map[string]struct {
	plain func([]byte, int) (int, traits)
	skip  func([]byte, int, traits) (int, traits, error)
}{
	"words": {plainWords, skipWords},
	"best":  {plain, skipRest},
}

// TestSearchesAgree tries every byte value at every place of three blocks.
func TestSearchesAgree(t *testing.T) {
	for _, length := range []int{1, 7, 8, 9, 31, 32, 33, 63, 64, 65, 127, 128, 129, 150} {
		for at := range length {
			for c := range 256 {
				data := bytes.Repeat([]byte{'a'}, length)
				data[at] = byte(c)
				if at+1 < length && c == '\\' {
					data[at+1] = "n\"\\ux"[at%5]
				}
				agree(t, data)
			}
		}
	}
}

func agree(t *testing.T, data []byte) {
	t.Helper()
	n, seen := plain(data, 0)
	m, seen2 := plainWords(data, 0)
	if n != m || seen.nonASCII() != seen2.nonASCII() {
		t.Fatalf("plain(%q) = %d, %x; by words %d, %x", data, n, seen, m, seen2)
	}
	end, of, err := skipRest(data, 0, 0)
	end2, of2, err2 := skipWords(data, 0, 0)
	if end != end2 || (err == nil) != (err2 == nil) {
		t.Fatalf("skipRest(%q) = %d, %v; by words %d, %v", data, end, err, end2, err2)
	}
	if err == nil && (of.nonASCII() != of2.nonASCII() || of&escaped != of2&escaped) {
		t.Fatalf("skipRest(%q) has traits %x; by words %x", data, of, of2)
	}
	var a, b *SyntaxError
	if errors.As(err, &a) && errors.As(err2, &b) && *a != *b {
		t.Fatalf("skipRest(%q): %v; by words %v", data, a, b)
	}
}

// TestTraitsEndWithTheRun: bytes after the end of the run have no effect on its traits.
func TestTraitsEndWithTheRun(t *testing.T) {
	for at := range 150 {
		data := append(bytes.Repeat([]byte{'a'}, at), '"')
		data = append(data, bytes.Repeat([]byte{0xFF}, 150)...)
		for name, search := range searches {
			if n, seen := search.plain(data, 0); n != at || seen != 0 {
				t.Fatalf("%s: run of %d: %d, traits %x", name, at, n, seen)
			}
			if n, seen, err := search.skip(data, 0, 0); n != at+1 || seen != 0 || err != nil {
				t.Fatalf("%s: string of %d: %d, traits %x, %v", name, at, n, seen, err)
			}
		}
	}
}

func FuzzSearchesAgree(tf *testing.F) {
	f := variants.Of(tf)
	f.Add(bytes.Repeat([]byte(`a\n`), 60))
	f.Add(append(bytes.Repeat([]byte(`\\`), 63), `\"é"`...))
	f.Add(append(bytes.Repeat([]byte{'x'}, 62), `\u00e9é\"..."`...))
	f.Fuzz(func(t *testing.T, data []byte) { agree(t, data) })
}
