package editfile

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

// mine accepts the items that the tests below put into lists.
func mine(item any) bool {
	m, _ := item.(map[string]any)
	return m["by"] == "us"
}

func TestPutItem(t *testing.T) {
	for _, tc := range []struct{ rule, old, path, item, want string }{
		{"into an empty file", "", "hooks/Pre", `{"by":"us"}`,
			"{\n  \"hooks\": {\n    \"Pre\": [\n      {\n        \"by\": \"us\"\n      }\n    ]\n  }\n}\n"},
		{"on one line", `{"a": 1}`, "hooks/Pre", `{"by":"us"}`, `{"a": 1, "hooks": {"Pre": [{"by":"us"}]}}`},
		{"behind the others", `{"l": [{"x":1}]}`, "l", `{"by":"us"}`, `{"l": [{"x":1}, {"by":"us"}]}`},
		{"behind the others, on a line of its own", "{\n\t\"l\": [\n\t\t1 // one\n\t]\n}\n", "l", `{"by":"us"}`,
			"{\n\t\"l\": [\n\t\t1, // one\n\t\t{\n\t\t\t\"by\": \"us\"\n\t\t}\n\t]\n}\n"},
		{"behind a comma and a comment", "{\n  \"l\": [\n    1, // one\n  ]\n}\n", "l", "2", "{\n  \"l\": [\n    1, // one\n    2,\n  ]\n}\n"},
		{"into a list with a comment", "{\n  \"l\": [\n    // none yet\n  ]\n}\n", "l", "2", "{\n  \"l\": [\n    // none yet\n    2\n  ]\n}\n"},
		{"behind a comma at the end", "{\n  \"l\": [\n    1,\n  ],\n}\n", "l", `2`, "{\n  \"l\": [\n    1,\n    2,\n  ],\n}\n"},
		{"into an empty list", `{"l": [ ]}`, "l", `2`, `{"l": [2]}`},
		{"in the place of ours", `{"l": [1, {"by":"us","old":1}, 2]}`, "l", `{"by":"us"}`, `{"l": [1, {"by":"us"}, 2]}`},
		{"as it is", `{"l": [1, {"by"  : "us"}, 2]}`, "l", `{"by":"us"}`, `{"l": [1, {"by"  : "us"}, 2]}`},
		{"once", `{"l": [{"by":"us"}, 1, {"by":"us","old":1}]}`, "l", `{"by":"us"}`, `{"l": [{"by":"us"}, 1]}`},
		{"line endings", "{\r\n  \"l\": [\r\n    1\r\n  ]\r\n}\r\n", "l", "2", "{\r\n  \"l\": [\r\n    1,\r\n    2\r\n  ]\r\n}\r\n"},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			got, err := PutItem([]byte(tc.old), path(tc.path), mine, json.RawMessage(tc.item))
			if err != nil || string(got) != tc.want {
				t.Fatalf("got %q (%v)\nwant %q", got, err, tc.want)
			}
			if tc.item == "2" {
				return // it is not recognized
			}
			again, err := PutItem(got, path(tc.path), mine, json.RawMessage(tc.item))
			if err != nil || string(again) != tc.want {
				t.Errorf("the second time: got %q (%v)", again, err)
			}
		})
	}
	for _, bad := range []string{`{"l": 1}`, `{"l": {"x": 1}}`, `[]`, `{`} {
		if got, err := PutItem([]byte(bad), path("l"), mine, json.RawMessage("1")); err == nil {
			t.Errorf("%s: became %q", bad, got)
		}
	}
}

func TestDropItems(t *testing.T) {
	for _, tc := range []struct{ rule, old, path, want string }{
		{"a list is removed with its last item", "{\n  \"a\": 1,\n  \"hooks\": {\n    \"Pre\": [\n      {\"by\": \"us\"}\n    ]\n  }\n}\n", "hooks/Pre", "{\n  \"a\": 1\n}\n"},
		{"objects with something else in them stay", `{"hooks": {"Pre": [{"by":"us"}], "Post": []}}`, "hooks/Pre", `{"hooks": { "Post": []}}`},
		{"the first", `{"l": [{"by":"us"}, 1]}`, "l", `{"l": [1]}`},
		{"the last", "{\n  \"l\": [\n    1,\n    {\"by\":\"us\"}\n  ]\n}\n", "l", "{\n  \"l\": [\n    1\n  ]\n}\n"},
		{"several", `{"l": [{"by":"us"}, 1, {"by":"us"}, {"by":"us"}, 2]}`, "l", `{"l": [1, 2]}`},
		{"comments stay", "{\"l\": [\n  1, // one\n  {\"by\":\"us\"}, // ours\n  2\n]}", "l", "{\"l\": [\n  1, // one\n   // ours\n  2\n]}"},
		{"a list with a comment stays", "{\"l\": [ // mine\n  {\"by\":\"us\"}\n]}", "l", "{\"l\": [ // mine\n]}"},
		{"an object with a comment stays", "{\n  \"hooks\": {\n    // mine\n    \"Pre\": [{\"by\":\"us\"}]\n  }\n}\n", "hooks/Pre", "{\n  \"hooks\": {\n    // mine\n  }\n}\n"},
		{"none", `{"l": [1]}`, "l", `{"l": [1]}`},
		{"no list", `{"a": 1}`, "l", `{"a": 1}`},
	} {
		got, err := DropItems([]byte(tc.old), path(tc.path), mine)
		if err != nil || string(got) != tc.want {
			t.Errorf("%s: got %q (%v), want %q", tc.rule, got, err, tc.want)
		}
	}
}

// FuzzJSONList: after an item was added to a list and removed again, all values are as before. A
// list that had other items or a comment is the same, byte for byte.
func FuzzJSONList(tf *testing.F) {
	f := variants.Of(tf)
	for _, seed := range []string{`{}`, `{"l":[1]}`, "{\n  // c\n  \"l\": [1, 2,],\n}", "{\"l\":[\n1, // c \r\n]}", "{\"l\":[1 /* c */]}", "{\"l\":[ // c\n]}", "{\"l\":[/* c */ ]}", `{"l":[],"l":[{"by":"us"}]}`, `{"a":{"l":[{"by":"us"},3]}}`} {
		f.Add([]byte(seed), "l")
		f.Add([]byte(seed), "a/l")
	}
	f.Fuzz(func(t *testing.T, data []byte, at string) {
		put, err := PutItem(data, path(at), mine, json.RawMessage(`{"by":"us","n":1}`))
		if err != nil {
			return
		}
		again, err := PutItem(put, path(at), mine, json.RawMessage(`{"by":"us","n":1}`))
		if err != nil || string(again) != string(put) {
			t.Fatalf("the second time %q (%v), not %q", again, err, put)
		}
		dropped, err := DropItems(put, path(at), mine)
		if errors.Is(err, ErrPath) {
			return // a name occurs twice
		}
		if err != nil {
			t.Fatalf("%q: %v", put, err)
		}
		if doc, err := scanJSON(data); err == nil && keeps(doc, path(at)) && !mixed(data) && string(dropped) != string(data) {
			t.Fatalf("%q became %q, and then %q", data, put, dropped)
		}
		left, err := parseJSON(dropped)
		if err != nil {
			t.Fatalf("%q: %v", dropped, err)
		}
		if v, ok := valueAt(left, path(at)).([]any); ok {
			for _, item := range v {
				if mine(item) {
					t.Fatalf("%q: ours is still there", dropped)
				}
			}
		}
	})
}

// keeps reports whether the list at a path stays when an item of ours is removed from it.
func keeps(doc *jsonDoc, path []string) bool {
	list, ok := valueAt(doc.values(), path).([]any)
	if !ok || slices.ContainsFunc(list, mine) {
		return false
	}
	return len(list) > 0 || doc.commented(doc.find(path))
}

func valueAt(values map[string]any, path []string) any {
	var v any = values
	for _, name := range path {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}
