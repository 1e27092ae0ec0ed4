package document

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

// complaints returns the problems of a file after it was read, one per line.
func complaints(t *testing.T, text string, read func(*Table)) string {
	t.Helper()
	top, err := TOML("f.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	read(top)
	top.End()
	if err = top.Err(); err == nil {
		return ""
	}
	return err.Error()
}

// TestComplaints: each getter reports a wrong value with its place and a fix.
func TestComplaints(t *testing.T) {
	for _, c := range []struct {
		rule, text string
		read       func(*Table)
		want       string
	}{
		{"a text", "a = 1", func(t *Table) { t.Text("a", "") }, `1:5: a: must be a string, got a whole number; put it into quotes: "…"`},
		{"a text that is a table", "[a]", func(t *Table) { t.Text("a", "") }, `1:2: a: must be a string, got a table; write a string`},
		{"an empty text that is required", "a = ''", func(t *Table) { t.Required("a") }, `1:5: a: is required; write a = "…"`},
		{"a missing text that is required", "[b]", func(t *Table) { t.Table("b").Required("a b") }, `1:2: b."a b": is required; write "a b" = "…"`},
		{"one of a few", "a = 'on'", func(t *Table) { OneOf(t, "a", "", "one", "two") }, `1:5: a: must be one of one, two, got "on"; did you mean "one"?`},
		{"the only word", "a = 'x'", func(t *Table) { OneOf(t, "a", "", "one") }, `1:5: a: must be "one", got "x"; write "one", or leave it out`},
		{"one of a few, and none is near", "a = 'x'", func(t *Table) { OneOf(t, "a", "", "one", "two") }, `1:5: a: must be one of one, two, got "x"; write one of them`},
		{"a flag", "a = 'true'", func(t *Table) { t.Flag("a") }, `1:5: a: must be true or false, got a string; leave out the quotes`},
		{"a text that is not a flag", "a = 'yes'", func(t *Table) { t.Flag("a") }, `1:5: a: must be true or false, got a string; write true or false`},
		{"a number", "a = 1.5", func(t *Table) { t.Number("a") }, `1:5: a: must be a whole number, got a number with a fraction; leave out the fraction`},
		{"a number within bounds", "a = 7", func(t *Table) { t.Value("a").Within(1, 5) }, `1:5: a: 7 is out of range; write a number from 1 to 5`},
		{"a duration without a unit", "a = 5", func(t *Table) { t.Duration("a") }, `1:5: a: a duration needs a unit; write "5s" if seconds are meant`},
		{"a list", "a = 'x'", func(t *Table) { t.List("a") }, `1:5: a: must be an array of strings, got a string; put it into brackets: […]`},
		{"a list", "a = true", func(t *Table) { t.List("a") }, `1:5: a: must be an array of strings, got true or false; write the items in brackets: ["…"]`},
		{"an item", "a = ['x',\n 1, '']", func(t *Table) { t.List("a") },
			"2:2: a[1]: must be a string, got a whole number; put it into quotes: \"…\"\nf.toml:2:5: a[2]: must not be empty; take it out, or write something"},
		{"a table", "a = 2026-11-16", func(t *Table) { t.Table("a") }, `1:5: a: must be a table, got a date or time; put a key before each value: { KEY = … }`},
		{"an item in a table in a list", "a = [{b = 1}]", func(t *Table) { t.Tables("a")[0].Text("b", "") }, `1:11: a[0].b: must be a string, got a whole number; put it into quotes: "…"`},
		{"a table in a list", "a = 1\nc = [ {b = 1}]", func(t *Table) { t.Names(); t.Tables("c")[0].Self.Bad("", "no") }, `2:7: c[0]: no`},
		{"an unknown key", "\nverzion = 1", func(t *Table) { t.Text("version", "") }, `2:1: unknown key verzion; did you mean "version"?`},
		{"a value that JSON does not have", "[a]\nb = inf", func(t *Table) { t.Free("a") }, `1:2: a: +Inf has no counterpart in JSON; write a value that JSON has: plugins get the config as JSON`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			if got := complaints(t, c.text, c.read); got != "f.toml:"+c.want {
				t.Errorf("got  %s\nwant f.toml:%s", got, c.want)
			}
		})
	}
}

// TestValues: values are read as written and in order, and absent is not the same as empty.
func TestValues(t *testing.T) {
	top, err := TOML("f", []byte("z = 'x'\nd = '1m'\nb = []\n[a.f]\nt = 2026-11-16\nn = [1, 2.5]\n[[l]]\nk = true\n[[l]]\nk = false\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(top.Names(), " "); got != "z d b a l" {
		t.Errorf("the keys are %s", got)
	}
	if top.Text("z", "") != "x" || top.Text("none", "y") != "y" || top.Duration("d") != time.Minute {
		t.Error("a text, a default or a duration is wrong")
	}
	if top.List("b") == nil || top.List("none") != nil {
		t.Error("an empty list and a missing list must differ")
	}
	if got := fmt.Sprint(top.Table("a").Free("f")); got != "map[n:[1 2.5] t:2026-11-16]" {
		t.Errorf("a free table is %s", got)
	}
	if got := string(top.Value("a").JSON()); got != `{"f":{"t":"2026-11-16","n":[1,2.5]}}` {
		t.Errorf("as JSON it is %s", got)
	}
	if all := top.Tables("l"); len(all) != 2 || !*all[0].Flag("k") || *all[1].Flag("k") || all[1].Self.Path() != "l[1]" {
		t.Error("the list of tables is wrong")
	}
	if line, column := top.Position("l", 1, "k"); line != 10 || column != 5 {
		t.Errorf("the place is %d:%d", line, column)
	}
	if line, _ := top.Position("nowhere"); line != 0 {
		t.Errorf("a missing value is in line %d", line)
	}
	if err := top.Err(); err != nil {
		t.Error(err)
	}
}

// TestUnknownKeysMayBeWarnings: unknown keys of a manifest are warnings, since they may be of a
// later version.
func TestUnknownKeysMayBeWarnings(t *testing.T) {
	top, err := TOML("", []byte("nmae = 1\n"))
	if err != nil {
		t.Fatal(err)
	}
	top.Text("name", "")
	top.EndWarning()
	if got := fmt.Sprint(top.Warnings(), top.Err()); got != `[1:1: nmae: unknown key, ignored; did you mean "name"?] <nil>` {
		t.Errorf("got %s", got)
	}
}

// TestOf: settings without a file are read in the same way, and their problems have no place.
func TestOf(t *testing.T) {
	top := Of("notifier x", map[string]any{"n": 1.0, "i": 7, "none": nil, "l": []string{"a"}, "t": 5, "unheard": true})
	if n, i := top.Number("n"), top.Number("i"); n == nil || *n != 1 || i == nil || *i != 7 {
		t.Errorf("the numbers are %v and %v", n, i)
	}
	if top.Has("none") || fmt.Sprint(top.List("l")) != "[a]" {
		t.Error("null counts as present, or the list is wrong")
	}
	top.Text("t", "")
	top.End()
	const want = "notifier x: t: must be a string, got a whole number; put it into quotes: \"…\"\nnotifier x: unknown key unheard; known here: n, i, l, t"
	if err := top.Err(); err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

// TestNoTOML: a syntax error has its place, and a file of the wrong kind is recognised by its size.
func TestNoTOML(t *testing.T) {
	_, err := TOML("f", []byte("a = 1\nb = \n"))
	e, ok := errors.AsType[*Error](err)
	if !ok || len(e.Problems) != 1 || e.Problems[0].Line != 2 || e.Problems[0].Fix == "" {
		t.Errorf("got %v", err)
	}
	if _, err := Read(strings.NewReader(strings.Repeat("#", MaxSize+1)), "f"); err == nil || !strings.Contains(err.Error(), "larger than 1024 KiB") {
		t.Errorf("got %v", err)
	}
}

// FuzzTOML: every problem of any file has a place in it.
func FuzzTOML(tf *testing.F) {
	f := variants.Of(tf)
	for _, s := range []string{"", "a = 1", "a = [{b.c = [[1], {d = 2}]}]\n[[a.x]]\n[a.x.y]\nz = 1", "[[a]]\n[[a.b]]\nc=[1]\n[[a]]", "\ufeffa='''\n'''"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		top, err := TOML("f", data)
		if err != nil {
			return
		}
		var ask func(v Value)
		ask = func(v Value) {
			v.Bad("", "x")
			v.BadKey("", "x")
			for _, item := range v.Items() {
				ask(item)
			}
			for _, name := range v.Names() {
				ask(v.Get(name))
			}
		}
		ask(top.Self)
		lines := strings.Count(string(data), "\n") + 1
		for _, p := range top.Problems() {
			if p.Line < 1 || p.Line > lines || p.Column < 1 {
				t.Errorf("%v in a file of %d lines", p, lines)
			}
		}
	})
}
