package dialect

import (
	"slices"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/rawjson"
)

func TestUnknownFields(t *testing.T) {
	known := []string{"retain", "inject"}
	for _, c := range []struct {
		rule, object string
		notes        []string
	}{
		{"a known field is no note", `{"inject":"x"}`, nil},
		{"a misspelt field is noted with the one that was meant", `{"injct":"x"}`,
			[]string{`the answer has the unknown field "injct", which is ignored; did you mean "inject"?`}},
		{"a field that resembles no known one is noted with the known ones", `{"colour":1}`,
			[]string{`the answer has the unknown field "colour", which is ignored; known here: retain, inject`}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			if got := notesOn(t, c.object, known); !slices.Equal(got, c.notes) {
				t.Errorf("noted %q, want %q", got, c.notes)
			}
		})
	}
	t.Run("of many fields only some are noted, and the last note says so", func(t *testing.T) {
		got := notesOn(t, `{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1}`, known)
		if len(got) != MostUnknown+1 || got[MostUnknown] != "the answer has more unknown fields" {
			t.Errorf("noted %q", got)
		}
	})
	t.Run("a long name is cut", func(t *testing.T) {
		if got := notesOn(t, `{"`+strings.Repeat("a", 5000)+`":1}`, known); len(got) != 1 || len(got[0]) > 200 {
			t.Errorf("noted %q", got)
		}
	})
	t.Run("where nothing is known there is no hint", func(t *testing.T) {
		if got := notesOn(t, `{"a":1}`, nil); len(got) != 1 || strings.Contains(got[0], ";") {
			t.Errorf("noted %q", got)
		}
	})
}

func notesOn(t *testing.T, object string, known []string) []string {
	t.Helper()
	o, err := rawjson.Parse([]byte(object))
	if err != nil {
		t.Fatal(err)
	}
	return UnknownFields("the answer", o, known)
}
