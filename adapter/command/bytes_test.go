package command

import (
	"encoding/json"
	"slices"
	"testing"
)

// TestWordsThatAreNotUTF8: a word that plugins did not change keeps its bytes, although plugins see
// U+FFFD in their place.
func TestWordsThatAreNotUTF8(t *testing.T) {
	for _, c := range []struct {
		rule       string
		sent, want []string
		plugin     func(args []string) []string
	}{
		{"nothing is changed", []string{"a\xff", "b", "a\xfe"}, []string{"a\xff", "b", "a\xfe"}, func(a []string) []string { return a }},
		{"one word is added", []string{"a\xff", "b"}, []string{"-i", "a\xff", "b"}, func(a []string) []string { return append([]string{"-i"}, a...) }},
		{"one word is changed", []string{"a\xff", "b"}, []string{"a\xff", "c"}, func(a []string) []string { a[1] = "c"; return a }},
		{"the word itself is changed", []string{"a\xff"}, []string{"a\ufffd\ufffd"}, func(a []string) []string { return []string{a[0] + "\ufffd"} }},
		{"of two words that look the same one is removed", []string{"a\xff", "a\xfe", "b\xff"}, []string{"a\ufffd", "b\xff"}, func(a []string) []string { return a[1:] }},
		{"the same word is there twice, and one is removed", []string{"a\xff", "a\xff"}, []string{"a\xff"}, func(a []string) []string { return a[1:] }},
	} {
		t.Run(c.rule, func(t *testing.T) {
			cmd := Command{Name: "n\xff", Args: c.sent, Flags: map[string]string{"f": "v\xff", "g": "w\xff"}}
			raw, err := json.Marshal(cmd.payload())
			if err != nil {
				t.Fatal(err)
			}
			var seen payload
			if err := json.Unmarshal(raw, &seen); err != nil {
				t.Fatal(err)
			}
			seen.Args, seen.Flags["g"] = c.plugin(seen.Args), "new"
			if raw, err = json.Marshal(seen); err != nil {
				t.Fatal(err)
			}
			if err := cmd.read(raw); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(cmd.Args, c.want) || cmd.Name != "n\xff" || cmd.Flags["f"] != "v\xff" || cmd.Flags["g"] != "new" {
				t.Errorf("%q, want %q; command %+q", cmd.Args, c.want, cmd)
			}
		})
	}
}
