package rawjson_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/rawjson"
)

// documents is the corpus that every fuzz target here starts from: valid and invalid JSON.
var documents = []string{
	`{}`, `[]`, `""`, `0`, `-0`, `-1.5e+10`, `1E9`, `true`, `false`, `null`, ` { } `, "\t[\n]\r",
	`{"jsonrpc":"2.0","id":1,"result":{"action":"continue"}}`,
	`{"a" : [1, 2, {"b" : "c d"}] , "e":"f"}`,
	`{"a":1,"a":2}`, `{"a":1,"b":2,"a":{"x":[]}}`,
	`{"\u0061":1,"é":"\ud83d\ude00","\ud800":"\udc00x"}`,
	"{\"\xff\":\"a\xffb\xc3\"}", `"a long string without anything special in it at all, but for one \" here"`,
	"\"\u2028\u2029<>&\"", `"\b\f\n\r\t\/\\\""`, `"\u00e9\u0000"`,
	``, ` `, `{`, `}`, `[`, `]`, `[1,]`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{a:1}`, `01`, `-`, `1.`, `.5`, `1e`, `+1`, `tru`, `nul`,
	`"`, `"\`, `"\x"`, `"\u12"`, `"\u12g4"`, "\"a\nb\"", "\"a\x00\"", `[1 2]`, `{"a":1 "b":2}`, `[}`, `{]`, `1 2`, `{}{}`, "\xef\xbb\xbf{}",
	`[[[[[[[[{"a":[[{"b":null}]]}]]]]]]]]`,
}

func TestCheckAgreesWithEncodingJSON(t *testing.T) {
	for _, doc := range documents {
		if got, want := rawjson.Check([]byte(doc)) == nil, json.Valid([]byte(doc)); got != want {
			t.Errorf("Check(%q) valid = %v, encoding/json says %v", doc, got, want)
		}
	}
}

func TestNestingHasTheLimitOfEncodingJSON(t *testing.T) {
	for _, depth := range []int{1, 63, 64, 65, 128, 129, 9_999, 10_000, 10_001, 200_000} {
		for _, pair := range [][2]string{{"[", "]"}, {`{"a":`, "}"}} {
			doc := strings.Repeat(pair[0], depth) + "1" + strings.Repeat(pair[1], depth)
			if got, want := rawjson.Check([]byte(doc)) == nil, json.Valid([]byte(doc)); got != want {
				t.Errorf("depth %d of %q: valid = %v, want %v", depth, pair[0], got, want)
			}
		}
	}
}

// TestEveryLevelCounts: Parse and Fields count the level of the object itself, as Check does. An
// empty container is a level too.
func TestEveryLevelCounts(t *testing.T) {
	for _, depth := range []int{1, 2, 64, 65, 1_000} {
		for name, inner := range map[string]string{"scalar": "1", "empty object": "{}", "empty list": "[]"} {
			levels := depth
			if inner != "1" {
				levels--
			}
			fits := strings.Repeat(`{"a":`, levels) + inner + strings.Repeat("}", levels)
			over := `{"a":` + fits + "}"
			checkDepth(t, name, fits, depth, false)
			checkDepth(t, name, over, depth, true)
		}
	}
	deep := strings.Repeat(`{"a":`, 10_000) + "1" + strings.Repeat("}", 10_000)
	if _, err := rawjson.Parse([]byte(deep)); err != nil || !json.Valid([]byte(deep)) {
		t.Errorf("10,000 levels: %v", err)
	}
	if _, err := rawjson.Parse([]byte(`{"a":` + deep + "}")); err == nil {
		t.Error("Parse accepted 10,001 levels, which encoding/json refuses")
	}
}

func checkDepth(t *testing.T, name, doc string, most int, over bool) {
	t.Helper()
	_, parsed := rawjson.ParseWithin([]byte(doc), most)
	if doc[0] != '{' {
		parsed = rawjson.CheckWithin([]byte(doc), most)
	}
	for of, err := range map[string]error{"ParseWithin": parsed, "CheckWithin": rawjson.CheckWithin([]byte(doc), most)} {
		var deep *rawjson.DepthError
		if errors.As(err, &deep) != over || over && (deep.Most != most || !strings.Contains(err.Error(), "levels")) || !over && err != nil {
			t.Errorf("%s of %d levels with a %s, over %v: %v", of, most, name, over, err)
		}
	}
}

func TestNestingKeepsObjectsAndArraysApart(t *testing.T) {
	var open, shut strings.Builder
	closers := make([]string, 0, 300)
	for i := range 300 { // objects and lists mixed, across several words of the bit stack
		if i*i%7 < 3 {
			open.WriteString(`{"k":`)
			closers = append(closers, "}")
		} else {
			open.WriteString("[")
			closers = append(closers, "]")
		}
	}
	for i := len(closers) - 1; i >= 0; i-- {
		shut.WriteString(closers[i])
	}
	doc := open.String() + "null" + shut.String()
	if err := rawjson.Check([]byte(doc)); err != nil {
		t.Fatalf("Check: %v", err)
	}
	for i := range closers { // one wrong bracket, at each place in turn
		bad := []byte(doc)
		at := len(doc) - 1 - i
		bad[at] ^= '}' ^ ']'
		if rawjson.Check(bad) == nil {
			t.Fatalf("a wrong bracket at level %d passed", i)
		}
	}
}

func TestSkip(t *testing.T) {
	tests := []struct {
		doc    string
		end    int
		spaced bool
	}{
		{`{"a":1},x`, 7, false},
		{`{"a": 1},x`, 8, true},
		{`"a b"   `, 5, false},
		{`12.5e3]`, 6, false},
		{`[ ]`, 3, true},
		{`[1,2,"a b"]}`, 11, false},
	}
	for _, tt := range tests {
		end, spaced, err := rawjson.Skip([]byte("##"+tt.doc), 2)
		if err != nil || end != tt.end+2 || spaced != tt.spaced {
			t.Errorf("Skip(%q) = %d, %v, %v; want %d, %v", tt.doc, end, spaced, err, tt.end+2, tt.spaced)
		}
	}
}

func TestSyntaxErrorSaysWhere(t *testing.T) {
	var syntax *rawjson.SyntaxError
	if err := rawjson.Check([]byte(`{"a":1,"b":x}`)); !errors.As(err, &syntax) || syntax.Offset != 11 {
		t.Errorf("err = %v, want a SyntaxError at byte 11", err)
	}
	if err := rawjson.Check([]byte(`[1`)); err == nil || !strings.Contains(err.Error(), "unexpected end") {
		t.Errorf("err = %v, want an unexpected end", err)
	}
}

// TestTheEndOfAStringIsFound: every special byte is found at every distance from the start and the
// end of the eight-byte words.
func TestTheEndOfAStringIsFound(t *testing.T) {
	for _, length := range []int{1, 7, 8, 9, 31, 32, 33, 40, 63, 64, 65, 80} {
		for at := range length {
			for c := range 256 {
				c := byte(c)
				doc := append([]byte{'"'}, bytes.Repeat([]byte{'a'}, length)...)
				doc = append(doc, '"')
				doc[1+at] = c
				if got, want := rawjson.Check(doc) == nil, json.Valid(doc); got != want {
					t.Fatalf("Check(%q) valid = %v, want %v", doc, got, want)
				}
				span, _ := rawjson.Scan(doc, 0)
				if want := c >= 0x80; span.NonASCII != want {
					t.Fatalf("Scan(%q).NonASCII = %v", doc, span.NonASCII)
				}
			}
		}
	}
}

func TestParse(t *testing.T) {
	tests := []struct{ rule, in, want string }{
		{"keeps the order", `{"b":1,"a":2}`, `{"b":1,"a":2}`},
		{"compacts values", " { \"a\" : [ 1 , {\"b\" : \"c  d\"} ] } ", `{"a":[1,{"b":"c  d"}]}`},
		{"a repeated key keeps its first place and last value", `{"a":1,"b":2,"a":3}`, `{"a":3,"b":2}`},
		{"keys are compared decoded", `{"a":1,"\u0061":2}`, `{"a":2}`},
		{"invalid UTF-8 is replaced", "{\"k\xff\":\"a\xff\xfeb\"}", `{"k` + "\uFFFD" + `":"a` + "\uFFFD\uFFFD" + `b"}`},
		{"values keep their escapes", `{"a":"\u0061\/"}`, `{"a":"\u0061\/"}`},
		{"numbers are not touched", `{"a":1.0000000000000000001e+3}`, `{"a":1.0000000000000000001e+3}`},
		{"empty", ` {  } `, `{}`},
	}
	for _, tt := range tests {
		t.Run(tt.rule, func(t *testing.T) {
			o, err := rawjson.Parse([]byte(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			if got := string(o.JSON()); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
	for _, bad := range []string{``, `[]`, `"a"`, `null`, `{"a":1}x`, `{"a":1`, `{"a":1,}`, `{,}`, `{"a" 1}`, `{1:2}`, `{"a":01}`} {
		if _, err := rawjson.Parse([]byte(bad)); err == nil {
			t.Errorf("Parse(%q) passed", bad)
		}
	}
}

// TestParseForeign: a field may be repeated, but has one value, with or without an outline.
func TestParseForeign(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":1,"b":2,"a":1}`:                         `{"a":1,"b":2}`,
		`{"a":"x","\u0061":"\u0078"}`:                 `{"a":"\u0078"}`,
		`{"a":1,"b":2,"a":3}`:                         "a",
		`{"a":1,"\u0061":2,"b":0}`:                    "a",
		`{ "a": 1, "a": 2 }`:                          "a",
		`{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"a":2}`: "a",
		`{"a":1,"a":2,"a":1}`:                         "a",
	} {
		c := rawjson.Fields([]byte(`{"v":`+in+`}`), 0)
		c.Next()
		outline := c.Outline()
		outlined, outlineErr := outline.ParseForeign(rawjson.Clean([]byte(in)))
		o, err := rawjson.ParseForeign([]byte(in))
		if !reflect.DeepEqual(o, outlined) || !reflect.DeepEqual(err, outlineErr) {
			t.Errorf("%s: %v, %v, and with an outline %v, %v", in, o, err, outlined, outlineErr)
		}
		repeated, ok := errors.AsType[*rawjson.RepeatError](err)
		if want[0] != '{' && (!ok || repeated.Name != want) || want[0] == '{' && (err != nil || string(o.JSON()) != want) {
			t.Errorf("%s: %s, %v, want %s", in, o.JSON(), err, want)
		}
	}
	if _, err := rawjson.ParseForeign([]byte(`{"a":1,"a":2`)); !errors.As(err, new(*rawjson.SyntaxError)) {
		t.Errorf("half an object: %v", err)
	}
}

// TestRequote: needless escapes are removed from names and values, and the others stay.
func TestRequote(t *testing.T) {
	for in, want := range map[string]string{
		`{"cmd":"\u0072m -rf \/","\u0061":["\u003c","é","\u00e9"],"n":1.50}`: `{"cmd":"rm -rf /","a":["<","é","é"],"n":1.50}`,
		`"\"\\\n\u000a\u0000\u2028\ud83d\ude00"`:                             `"\"\\\n\n\u0000\u2028😀"`,
		`"\u0072\ud800\u0072"`:                                               `"r\ud800r"`,
		`["\uDC00\ud83d","\ud83d\ud83d\ude00","\ud83d\u005cude00","\ufffd"]`: `["\uDC00\ud83d","\ud83d😀","\ud83d\\ude00","�"]`,
		`"\\u0072\u001F"`: `"\\u0072\u001f"`,
		`{"a":[{}]}`:      `{"a":[{}]}`,
		`true`:            `true`,
		`"\`:              `"\`,
	} {
		if got := string(rawjson.Requote([]byte(in))); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func TestParseManyRepeatedKeys(t *testing.T) {
	var doc strings.Builder
	doc.WriteString("{")
	const keys, rounds = 30_000, 3
	for i := range keys * rounds {
		fmt.Fprintf(&doc, `"key%d":%d,`, i%keys, i)
	}
	doc.WriteString(`"end":0}`)
	o, err := rawjson.Parse([]byte(doc.String()))
	if err != nil {
		t.Fatal(err)
	}
	if len(o) != keys+1 {
		t.Fatalf("%d fields, want %d", len(o), keys+1)
	}
	for i, f := range o[:keys] {
		if want := fmt.Sprintf("key%d", i); f.Name != want || string(f.Value) != fmt.Sprint((rounds-1)*keys+i) {
			t.Fatalf("field %d is %s:%s", i, f.Name, f.Value)
		}
	}
}

func TestObject(t *testing.T) {
	o, err := rawjson.Parse([]byte(`{"text":"a\nb","n":5,"nil":null}`))
	if err != nil {
		t.Fatal(err)
	}
	t.Run("Get is nil where absent", func(t *testing.T) {
		if v := o.Get("none"); v != nil {
			t.Errorf("got %s", v)
		}
		if v := o.Get("nil"); string(v) != "null" {
			t.Errorf("null is %q", v)
		}
	})
	t.Run("String returns only strings", func(t *testing.T) {
		if s, ok := o.String("text"); s != "a\nb" || !ok {
			t.Errorf("got %q, %v", s, ok)
		}
		for _, name := range []string{"n", "nil", "none"} {
			if s, ok := o.String(name); ok {
				t.Errorf("%s is %q", name, s)
			}
		}
	})
	t.Run("With replaces in place, appends, and leaves the original", func(t *testing.T) {
		got := o.With(rawjson.Field{Name: "n", Value: json.RawMessage("6")}, rawjson.Field{Name: "new"}, rawjson.Field{Name: "n", Value: json.RawMessage("7")})
		if want := `{"text":"a\nb","n":7,"nil":null,"new":null}`; string(got.JSON()) != want {
			t.Errorf("got %s, want %s", got.JSON(), want)
		}
		if string(o.Get("n")) != "5" || len(o) != 3 {
			t.Errorf("the original became %s", o.JSON())
		}
	})
	t.Run("a nil object is an empty one", func(t *testing.T) {
		if got := rawjson.Object(nil).JSON(); string(got) != "{}" {
			t.Errorf("got %s", got)
		}
	})
	t.Run("appending to a value does not reach its neighbour", func(t *testing.T) {
		line := []byte(`{"a":1,"b":2}`)
		p, _ := rawjson.Parse(line)
		_ = append(p.Get("a"), "XXX"...)
		if string(line) != `{"a":1,"b":2}` {
			t.Errorf("the line became %s", line)
		}
	})
}

func TestCompact(t *testing.T) {
	same := []byte(`{"a":[1,"b c"]}`)
	if got := rawjson.Compact(same); &got[0] != &same[0] {
		t.Error("a compact value was copied")
	}
	if got := rawjson.Compact([]byte(" [1, \"\\\" ,\"]\n")); string(got) != `[1,"\" ,"]` {
		t.Errorf("got %s", got)
	}
	if got := rawjson.Compact([]byte("\"a\xff\"")); string(got) != "\"a\xff\"" {
		t.Errorf("Compact touched the UTF-8: %q", got)
	}
	if got := rawjson.Clean([]byte(" \"a\xff\"")); string(got) != "\"a\uFFFD\"" {
		t.Errorf("Clean gave %q", got)
	}
	if got, err := rawjson.CleanWithin([]byte(" [ \"a\xff\"]"), 1); err != nil || string(got) != "[\"a\uFFFD\"]" {
		t.Errorf("CleanWithin gave %q, %v", got, err)
	}
	for _, bad := range []string{"[[]]", "[1", "[] []", ""} {
		if got, err := rawjson.CleanWithin([]byte(bad), 1); err == nil || got != nil {
			t.Errorf("CleanWithin(%q) gave %q, %v", bad, got, err)
		}
	}
	if got := rawjson.Compact([]byte("{ x")); string(got) != "{ x" {
		t.Errorf("invalid JSON was returned as %q", got)
	}
}

func TestAppendString(t *testing.T) {
	tests := map[string]string{
		"":                     `""`,
		"plain":                `"plain"`,
		"<a href=\"x\">&\\":    `"<a href=\"x\">&\\"`,
		"\b\f\n\r\t\x00\x1f":   `"\b\f\n\r\t\u0000\u001f"`,
		"\u2028|\u2029|\u202a": `"\u2028|\u2029|` + "\u202a" + `"`,
		"bad\xffé\xc3":         `"bad` + "\uFFFDé\uFFFD" + `"`,
		"\x7f":                 "\"\x7f\"",
	}
	for in, want := range tests {
		if got := string(rawjson.String(in)); got != want {
			t.Errorf("String(%q) = %s, want %s", in, got, want)
		}
	}
}

func TestUnquote(t *testing.T) {
	if s, ok := rawjson.Unquote([]byte(` "\ud83d\ude00\ud83dx\u00e9" `)); s != "😀\uFFFDxé" || !ok {
		t.Errorf("got %q, %v", s, ok)
	}
	for _, bad := range []string{``, `null`, `1`, `"`, `"a"b`, `"\"`} {
		if _, ok := rawjson.Unquote([]byte(bad)); ok {
			t.Errorf("Unquote(%q) passed", bad)
		}
	}
}

func TestParseAllocatesOnlyTheFields(t *testing.T) {
	doc := []byte(event300)
	if n := testing.AllocsPerRun(100, func() { _, _ = rawjson.Parse(doc) }); n > 1 {
		t.Errorf("%v allocations", n)
	}
	buf := make([]byte, 0, 512)
	if n := testing.AllocsPerRun(100, func() { buf = rawjson.AppendString(buf[:0], event300) }); n > 0 {
		t.Errorf("AppendString: %v allocations", n)
	}
}

func TestObjectIs(t *testing.T) {
	for doc, want := range map[string]bool{
		`{}`:                        true,
		`{"a":1}`:                   true,
		`{"a":1,"b":"x","é":[1,2]}`: true,
		`{"a":1} `:                  false,
		` {"a":1}`:                  false,
		`{"a": 1}`:                  false,
		`{"a":[1, 2]}`:              false,
		`{"a":1,"a":1}`:             false,
		`{"\u0061":1}`:              false,
		"{\"a\":\"\xff\"}":          false,
	} {
		o, err := rawjson.Parse([]byte(doc))
		if err != nil {
			t.Fatal(err)
		}
		if o.Is([]byte(doc)) != want {
			t.Errorf("%q: is = %v", doc, !want)
		}
		if !o.Is(o.JSON()) {
			t.Errorf("%q is not its own JSON", doc)
		}
		if changed := o.With(rawjson.Field{Name: "a", Value: []byte("2")}); changed.Is([]byte(doc)) {
			t.Errorf("%q with another value: Is returned true for the old text", doc)
		}
	}
	if (rawjson.Object{{Name: "a"}}).Is([]byte(`{"a":}`)) || (rawjson.Object{}).Is(nil) || (rawjson.Object{}).Is([]byte(`{`)) {
		t.Error("Is returned true for invalid JSON")
	}
}

func TestQuoteAndTextAreStringAndUnquote(t *testing.T) {
	for _, doc := range append(documents, strings.Repeat(`{"a":"b\\n"}`+"\n", 1000)) {
		quoted := rawjson.Quote([]byte(doc))
		if added := rawjson.AppendQuoted([]byte("x"), []byte(doc)); string(added) != "x"+string(quoted) {
			t.Errorf("AppendQuoted(%.60q) = %.60s", doc, added)
		}
		if string(quoted) != string(rawjson.String(doc)) {
			t.Errorf("Quote(%.60q) = %.60s, want %.60s", doc, quoted, rawjson.String(doc))
		}
		for _, v := range []string{doc, string(quoted)} {
			text, ok := rawjson.Text([]byte(v))
			if want, wantOK := rawjson.Unquote([]byte(v)); ok != wantOK || string(text) != want {
				t.Errorf("Text(%.60q) = %.60q, %v; want %.60q, %v", v, text, ok, want, wantOK)
			}
		}
	}
}

func TestLongTextIsQuotedWithOneAllocation(t *testing.T) {
	text := []byte(strings.Repeat(`{"a":"b\\n"}`+"\n", 1000))
	if n := testing.AllocsPerRun(10, func() { rawjson.Quote(text) }); n > 1 {
		t.Errorf("%v allocations", n)
	}
}

// TestOutlineSavesAScan: with an outline, values are not scanned again, unless there are too many
// fields or Clean has changed something. The values are broken here, which only a scan can notice.
func TestOutlineSavesAScan(t *testing.T) {
	for value, saved := range map[string]bool{
		`{"a":1,"b":"é"}`:                             true,
		`{"1":1,"2":2,"3":3,"4":4,"5":5,"6":6}`:       true,
		`{"1":1,"2":2,"3":3,"4":4,"5":5,"6":6,"7":7}`: false,
		`{"a": 1}`:             false,
		"{\"a\":1,\"\xff\":2}": false,
	} {
		line := []byte(`{"v":` + value + `}`)
		c := rawjson.Fields(line, 0)
		if !c.Next() {
			t.Fatal(c.Err)
		}
		outline, broken := c.Outline(), bytes.Replace(c.Value.Clean(line), []byte("1"), []byte("x"), 1)
		if bytes.HasPrefix(broken, []byte(`{"x"`)) {
			broken = bytes.Replace(broken, []byte("2,"), []byte("x,"), 1)
		}
		if _, err := outline.ParseForeign(broken); (err == nil) != saved {
			t.Errorf("%s: %v", value, err)
		}
	}
}
