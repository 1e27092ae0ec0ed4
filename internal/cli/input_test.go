package cli

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

func TestSyntaxMessage(t *testing.T) {
	long := `{"text":"` + strings.Repeat("x", 200) + `",,"more":"` + strings.Repeat("y", 200) + `"}`
	tests := map[string]struct{ data, want string }{
		"the first line": {`{"a":x}`, "line 1, column 6: invalid character 'x' looking for beginning of value\n" +
			"  {\"a\":x}\n" +
			"       ^"},
		"a later line": {"{\n  \"a\": 1\n  \"b\": 2\n}", "line 3, column 3: invalid character '\"' after object key:value pair\n" +
			"    \"b\": 2\n" +
			"    ^"},
		"the end": {`{"a":1`, "line 1, column 7: unexpected end of JSON input\n" +
			"  {\"a\":1\n" +
			"        ^"},
		"empty input":              {"", "line 1, column 1: unexpected end of JSON input\n  \n  ^"},
		"columns count characters": {`{"世界":x}`, "line 1, column 7: invalid character 'x' looking for beginning of value\n  {\"世界\":x}\n          ^"},
		"a tab is escaped":         {"{\t\"a\":x}", "line 1, column 7: invalid character 'x' looking for beginning of value\n  {\\t\"a\":x}\n         ^"},
		"a long line is cut around the fault": {long, "line 1, column 212: invalid character ',' looking for beginning of object key string\n" +
			"  …" + strings.Repeat("x", 32) + `",,"more":"` + strings.Repeat("y", 25) + "…\n" +
			"  " + strings.Repeat(" ", 35) + "^"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := syntaxMessage("it", []byte(tt.data), errors.New("bad"))
			if want := "it is not JSON: " + tt.want; got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func FuzzSyntaxMessage(tf *testing.F) {
	f := variants.Of(tf)
	f.Add("{\"a\":\n\x1b}")
	f.Add("\xff")
	f.Fuzz(func(t *testing.T, data string) {
		for _, r := range syntaxMessage("it", []byte(data), errors.New("bad")) {
			if r < 0x20 && r != '\n' && r != '\t' {
				t.Fatalf("control character %q passed", r)
			}
		}
	})
}

// FuzzEvent: a line of --events is an existing point with its data, or an error that names the
// line.
func FuzzEvent(tf *testing.F) {
	f := variants.Of(tf)
	for _, seed := range []string{`{"point":"turn.input","data":{"message":"x"}}`, `{"point":"turn.input","data":null}`, `{"point":"no.such"}`, `{"point":7}`, `[]`, ``, "\xff", `{"point":"\u001b[2J"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		point, data, err := parseEvent(inputLine{text: text}, 7)
		if err != nil {
			if !strings.Contains(err.Error(), "line 7") {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		if _, ok := point.Spec(); !ok || data != nil && !json.Valid(data) {
			t.Errorf("%q is %q with %q", text, point, data)
		}
	})
}
