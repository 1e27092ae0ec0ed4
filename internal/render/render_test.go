package render_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
	"github.com/patchbay-dev/patchbay/internal/render"
)

func TestLine(t *testing.T) {
	tests := map[string]struct{ in, want string }{
		"plain text is left alone":            {"grüße, 世界 👩‍🚀", "grüße, 世界 👩‍🚀"},
		"escape sequences are shown":          {"\x1b[2J", `\x1b[2J`},
		"C1 controls are shown":               {"\u009b31m", `\u009b31m`},
		"line ends and tabs are shown":        {"a\r\n\tb", `a\r\n\tb`},
		"delete is shown":                     {"\x7f", `\x7f`},
		"invalid UTF-8 is shown":              {"a\xff\x9bb", `a\xff\x9bb`},
		"direction overrides are shown":       {"\u202egpj.exe", `\u202egpj.exe`},
		"invisible tag characters are shown":  {"hi\U000e0041", `hi\U000e0041`},
		"line separators are shown":           {"a\u2028b", `a\u2028b`},
		"a byte order mark is shown":          {"\ufeffa", `\ufeffa`},
		"the replacement character is itself": {"\ufffd", "\ufffd"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := render.Line(tt.in); got != tt.want {
				t.Errorf("Line(%q) = %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

func TestBlockKeepsLines(t *testing.T) {
	if got, want := render.Block("a\r\n\tb\x1b[m\n"), "a\n    b\\x1b[m\n"; got != want {
		t.Errorf("Block = %q, want %q", got, want)
	}
}

func TestSafeJSON(t *testing.T) {
	in := []byte("{\"a\":\"\u009b\u202e\U000e0041\x7f\",\"b\":\"é👩‍🚀\"}")
	out := render.SafeJSON(in)
	if strings.ContainsAny(string(out), "\u009b\u202e\U000e0041\x7f") {
		t.Errorf("unfit characters left in %q", out)
	}
	if !strings.Contains(string(out), "é👩‍🚀") {
		t.Errorf("harmless characters escaped: %q", out)
	}
	if a, b := decode(t, in), decode(t, out); !reflect.DeepEqual(a, b) {
		t.Errorf("the value changed from %v to %v", a, b)
	}
}

func decode(t *testing.T, raw []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestJSONColoursKeepTheText(t *testing.T) {
	raw := json.RawMessage(`{"key":"va\"l: ue","n":-1.5e+3,"list":[true,null,"x"],"o":{}}`)
	var plain, colored strings.Builder
	for b, o := range map[*strings.Builder]render.Options{&plain: {}, &colored: {Color: true}} {
		if err := render.JSON(b, raw, o); err != nil {
			t.Fatal(err)
		}
	}
	stripped := colored.String()
	for _, style := range []render.Style{render.StyleBlue, render.StyleGreen, render.StyleCyan} {
		stripped = strings.ReplaceAll(stripped, "\x1b["+string(style)+"m", "")
	}
	stripped = strings.ReplaceAll(stripped, "\x1b[0m", "")
	if stripped != plain.String() || colored.String() == plain.String() {
		t.Errorf("coloured text is %q, plain is %q", colored.String(), plain.String())
	}
}

func TestTable(t *testing.T) {
	rows := [][]render.Cell{
		render.Head("NAME", "SIZE", "ABOUT"),
		{{Text: "世界"}, {Text: "7", Right: true}, {Text: "wide characters count double"}},
		{{Text: "a\x1b"}, {Text: "12345", Right: true}, {Text: ""}},
	}
	t.Run("columns are aligned", func(t *testing.T) {
		var b strings.Builder
		if err := render.Table(&b, rows, render.Options{}); err != nil {
			t.Fatal(err)
		}
		want := "NAME   SIZE   ABOUT\n" + "世界       7  wide characters count double\n" + "a\\x1b  12345\n"
		if b.String() != want {
			t.Errorf("got\n%s\nwant\n%s", b.String(), want)
		}
	})
	t.Run("the widest column is cut to the screen", func(t *testing.T) {
		var b strings.Builder
		if err := render.Table(&b, rows, render.Options{Width: 24}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), "wide char…\n") {
			t.Errorf("got\n%s", b.String())
		}
	})
	t.Run("no column is cut to nothing", func(t *testing.T) {
		var b strings.Builder
		if err := render.Table(&b, rows, render.Options{Width: 3}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), "wide ch…\n") {
			t.Errorf("got\n%s", b.String())
		}
	})
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 µs", 812 * time.Microsecond: "812 µs", 1234 * time.Microsecond: "1.23 ms",
		12345 * time.Microsecond: "12.3 ms", 5 * time.Second: "5.00 s",
	} {
		if got := render.Duration(d); got != want {
			t.Errorf("Duration(%d) = %q, want %q", d, got, want)
		}
	}
}

func FuzzLine(tf *testing.F) {
	f := variants.Of(tf)
	f.Add("plain")
	f.Add("\x1b[31m\xff\u202e")
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range render.Line(s) {
			if r < 0x20 || 0x7f <= r && r < 0xa0 {
				t.Fatalf("control character %q passed", r)
			}
		}
	})
}
