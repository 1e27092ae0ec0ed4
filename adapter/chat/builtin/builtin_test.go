package builtin

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/adapter/chat"
	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/session"
)

func TestTools(t *testing.T) {
	procs := proc.NewGroup(nil)
	defer procs.Close()
	names := func(tools []chat.Tool) (all, changing []string) {
		for _, tool := range tools {
			all = append(all, tool.Name)
			if tool.Changes {
				changing = append(changing, tool.Name)
			}
		}
		return all, changing
	}

	t.Run("there are six tools, and three of them change things", func(t *testing.T) {
		all, changing := names(Tools(Options{Procs: procs}))
		if !slices.Equal(all, []string{"shell", "read_file", "write_file", "edit_file", "list_files", "fetch"}) {
			t.Error(all)
		}
		if !slices.Equal(changing, []string{"shell", "write_file", "edit_file"}) {
			t.Error(changing)
		}
	})
	t.Run("without processes there is no shell", func(t *testing.T) {
		if all, _ := names(Tools(Options{})); slices.Contains(all, "shell") || len(all) != 5 {
			t.Error(all)
		}
	})
	t.Run("each schema describes the arguments that are decoded", func(t *testing.T) {
		decoded := map[string]any{"shell": shellArgs{}, "read_file": readArgs{}, "write_file": writeArgs{},
			"edit_file": editArgs{}, "list_files": listArgs{}, "fetch": fetchArgs{}}
		for _, tool := range Tools(Options{Procs: procs}) {
			if got, want := described(t, tool), fields(decoded[tool.Name]); !slices.Equal(got, want) {
				t.Errorf("%s describes %v and decodes %v", tool.Name, got, want)
			}
		}
	})
	t.Run("a working directory that is gone is an error, not a result", func(t *testing.T) {
		b := newBench(t, Options{})
		b.dir = filepath.Join(b.dir, "gone")
		for _, name := range []string{"read_file", "write_file", "edit_file", "list_files", "shell"} {
			a := args{"path": "a", "content": "", "old": "a", "new": "b", "cmd": "true"}
			if r, err := b.try(t.Context(), name, a); !errors.Is(err, fs.ErrNotExist) || r.Success {
				t.Errorf("%s: %+v, %v", name, r, err)
			}
		}
	})
	t.Run("a working directory that is not absolute is an error", func(t *testing.T) {
		b := newBench(t, Options{})
		b.dir = "."
		if r, err := b.try(t.Context(), "list_files", args{}); err == nil {
			t.Errorf("%+v", r)
		}
	})
}

// described returns the properties of a tool's schema. Each must have a type and a description.
func described(t *testing.T, tool chat.Tool) []string {
	var schema struct {
		Type       string
		Properties map[string]struct{ Type, Description string }
		Required   []string
	}
	if err := json.Unmarshal(tool.Parameters, &schema); err != nil || schema.Type != "object" {
		t.Fatalf("%s: %v", tool.Name, err)
	}
	var names []string
	for name, p := range schema.Properties {
		names = append(names, name)
		if p.Type == "" || p.Description == "" {
			t.Errorf("%s: %s is not described", tool.Name, name)
		}
	}
	for _, name := range schema.Required {
		if !slices.Contains(names, name) {
			t.Errorf("%s: %s is required and not described", tool.Name, name)
		}
	}
	slices.Sort(names)
	return names
}

// fields returns the JSON names of a struct's fields.
func fields(v any) []string {
	var names []string
	for f := range reflect.TypeOf(v).Fields() {
		names = append(names, f.Tag.Get("json"))
	}
	slices.Sort(names)
	return names
}

func TestArguments(t *testing.T) {
	read := func(raw string) (readArgs, error) {
		var a readArgs
		return a, decode(json.RawMessage(raw), readParameters, &a)
	}

	t.Run("numbers may be written in any way", func(t *testing.T) {
		for _, raw := range []string{`7`, `7.0`, `"7"`, `" 7 "`, `7e0`} {
			var a readArgs
			err := decode(json.RawMessage(`{"path":"a","offset":`+raw+`}`), readParameters, &a)
			if err != nil || a.Offset.whole(100) != 7 {
				t.Errorf("%s: %v, %v", raw, a.Offset, err)
			}
		}
	})
	t.Run("values that are not numbers are errors", func(t *testing.T) {
		for _, raw := range []string{`"seven"`, `"NaN"`, `{}`, `[]`, `true`} {
			if _, err := read(`{"path":"a","offset":` + raw + `}`); err == nil {
				t.Errorf("%s was accepted", raw)
			}
		}
	})
	t.Run("numbers out of bounds are limited", func(t *testing.T) {
		for raw, want := range map[string]int{`-5`: 0, `1e300`: 100, `null`: 0, `"Inf"`: 100} {
			var a readArgs
			err := decode(json.RawMessage(`{"path":"a","offset":`+raw+`}`), readParameters, &a)
			if err != nil || a.Offset.whole(100) != want {
				t.Errorf("%s: %v, %v", raw, a.Offset.whole(100), err)
			}
		}
	})
	t.Run("booleans may be strings", func(t *testing.T) {
		for raw, want := range map[string]flag{`true`: true, `"True"`: true, `false`: false, `"false"`: false, `null`: false} {
			var a editArgs
			err := decode(json.RawMessage(`{"path":"a","old":"b","new":"c","all":`+raw+`}`), editParameters, &a)
			if err != nil || a.All != want {
				t.Errorf("%s: %v, %v", raw, a.All, err)
			}
		}
	})
	t.Run("an unknown argument is ignored: plugins add some", func(t *testing.T) {
		if _, err := read(`{"path":"a","ticket":"X-1"}`); err != nil {
			t.Error(err)
		}
	})
	t.Run("a missing argument is named, with an unknown one that was given", func(t *testing.T) {
		for raw, want := range map[string]string{
			`{}`:                     `"path" is missing`,
			``:                       `"path" is missing`,
			`null`:                   `"path" is missing`,
			`{"path":null}`:          `"path" is missing`,
			`{"pathh":"a"}`:          `"pathh" is not an argument: did you mean "path"?`,
			`{"filename":"a"}`:       `"filename" is not an argument, these are: limit, offset, path`,
			`["a"]`:                  `not a JSON object: "[\"a\"]"`,
			`{"path":7}`:             `"path" must be a string, not number`,
			`{"path":{"content":1}}`: `"path" must be a string, not object`,
		} {
			_, err := read(raw)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", raw, err, want)
			}
		}
	})
	t.Run("wrong arguments give a failed result", func(t *testing.T) {
		b := newBench(t, Options{})
		for name := range b.tools {
			if name != "list_files" { // which needs none
				b.fails(name, args{}, "is missing")
			}
		}
	})
}

func FuzzArguments(tf *testing.F) {
	f := variants.Of(tf)
	for _, seed := range []string{`{}`, `{"path":"a"}`, `{"path":"a","offset":"1e9","limit":null}`, `[`, `{"PATH":"x","path":null}`, "\xff"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var a readArgs
		if decode(raw, readParameters, &a) != nil {
			return
		}
		if n := a.Offset.whole(maxLines); n < 0 || n > maxLines {
			t.Errorf("offset %d", n)
		}
		var given map[string]json.RawMessage
		if err := json.Unmarshal(raw, &given); err != nil {
			t.Errorf("%q was accepted: %v", raw, err)
		}
	})
}

// TestNoArgumentTwice: two arguments with one name are refused. The user would be shown one of
// them, and the tool would take the other.
func TestNoArgumentTwice(t *testing.T) {
	for _, raw := range []string{`{"cmd":"ls","CMD":"rm -rf x"}`, `{"cmd":"ls","cmd":"rm -rf x"}`, `{"Cmd":"ls","cm\u0064":"rm -rf x"}`} {
		var a shellArgs
		if err := decode(json.RawMessage(raw), shellParameters, &a); err == nil || !strings.Contains(err.Error(), "given twice") {
			t.Errorf("%s: %v, %+v", raw, err, a)
		}
	}
}

// TestNoHalfCharacter: half a surrogate pair is refused. A file would get another character.
func TestNoHalfCharacter(t *testing.T) {
	var a writeArgs
	err := decode(json.RawMessage(`{"path":"a","content":"\ud83d\ude00 \ud83d"}`), writeParameters, &a)
	if err == nil || !strings.Contains(err.Error(), `\ud83d, which is half a character`) {
		t.Errorf("%v, %+v", err, a)
	}
	if err := decode(json.RawMessage(`{"path":"a","content":"\ud83d\ude00 \ufffd"}`), writeParameters, &a); err != nil || a.Content != "😀 \uFFFD" {
		t.Errorf("whole characters: %v, %+v", err, a)
	}
}

func TestToolsNeedASession(t *testing.T) {
	tool := Tools(Options{})[0]
	_, err := tool.Run(t.Context(), chat.Call{Arguments: json.RawMessage(`{"path":"a"}`), Session: session.Session{}})
	if err == nil {
		t.Error("a call without a working directory ran")
	}
}
