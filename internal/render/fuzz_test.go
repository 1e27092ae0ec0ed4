package render

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

// FuzzSafeJSON: the shown JSON of a plugin has the same value, and no characters that a terminal
// would interpret. In colour the text is the same.
func FuzzSafeJSON(tf *testing.F) {
	f := variants.Of(tf)
	for _, seed := range []string{`{}`, `{"a":"\u001b[2J"}`, "\"\u009b2J\u202e\"", "[1e9,true,\"\U000e0041\"]", "\"\x9b\xff\"", "{\"\u2028\":{\"\":[]}}", "\x1b[2J", "\"\x7f\"", "0\r"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		shown := Options{}.jsonText(raw)
		for _, r := range shown {
			if r != '\n' && unfit(r) {
				t.Errorf("%q is shown as %q", raw, shown)
			}
		}
		if !utf8.ValidString(shown) {
			t.Errorf("%q is shown as %q, which is not UTF-8", raw, shown)
		}
		if !json.Valid(raw) {
			return
		}
		if was, is := value(t, raw), value(t, []byte(shown)); !reflect.DeepEqual(was, is) {
			t.Errorf("%q is shown as %q", raw, shown)
		}
		if coloured := (Options{Color: true}).jsonText(raw); len(coloured) < len(shown) {
			t.Errorf("%q is shown as %q, in colour as %q", raw, shown, coloured)
		}
	})
}

func value(t *testing.T, raw []byte) (v any) {
	if err := json.Unmarshal(raw, &v); err != nil {
		if strings.Contains(err.Error(), "cannot unmarshal number") {
			t.Skip("a number that Go cannot represent")
		}
		t.Fatalf("%q: %v", raw, err)
	}
	return v
}

// FuzzLineDiff: apart from the gaps, the common and the removed lines are the old text, and the
// common and the added lines are the new text.
func FuzzLineDiff(tf *testing.F) {
	f := variants.Of(tf)
	f.Add("a\nb\nc", "a\nc")
	f.Add("", "x")
	f.Add("1\n2\n3\n4\n5\n6\n7\n8\n9", "1\n2\n3\n4\nx\n6\n7\n8\n9")
	f.Add("a\na\nb\na", "a\nb\na\na")
	f.Fuzz(func(t *testing.T, old, new string) {
		a, b := strings.Split(old, "\n"), strings.Split(new, "\n")
		var was, is []string
		gaps := 0
		for _, l := range lineDiff(a, b) {
			switch l.sign {
			case '-':
				was = append(was, l.text)
			case '+':
				is = append(is, l.text)
			case ' ':
				was, is = append(was, l.text), append(is, l.text)
			default:
				gaps++
			}
		}
		if len(a)-len(was) != len(b)-len(is) || gaps == 0 && (!reflect.DeepEqual(was, a) || !reflect.DeepEqual(is, b)) {
			t.Errorf("%q and %q: %q, %q and %d gaps", a, b, was, is, gaps)
		}
	})
}
