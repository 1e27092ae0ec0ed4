package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

// An opinion is the result of checking a value against a schema.
type opinion struct {
	refused bool // the schema is invalid
	words   []string
}

func (o opinion) String() string {
	switch {
	case o.refused:
		return fmt.Sprintf("is not a schema: %q", o.words)
	case len(o.words) > 0:
		return fmt.Sprintf("does not fit: %q", o.words)
	}
	return "fits"
}

// verdict returns the part of an opinion in which this package and the oracle must agree.
func (o opinion) verdict() string { first, _, _ := strings.Cut(o.String(), ":"); return first }

// tooComplex reports whether the work exceeded its limits, which the oracle does not have.
func (o opinion) tooComplex() bool {
	return len(o.words) == 1 && strings.HasPrefix(o.words[0], "the schema is too complex")
}

func ours(schema, value string) opinion {
	s, faults := Compile(json.RawMessage(schema))
	if len(faults) > 0 {
		return opinion{true, wordsOf(faults)}
	}
	var words []string
	for _, e := range s.Check(json.RawMessage(value)) {
		words = append(words, e.String())
	}
	return opinion{words: words}
}

func theirs(schema, value string) opinion {
	o, words := newOracle(schema)
	if o == nil {
		return opinion{true, words}
	}
	return opinion{words: o.check(value)}
}

// compare fails if the verdicts of this package and the oracle differ. If words is true, it also
// fails if their messages differ.
func compare(t *testing.T, schema, value string, words bool) {
	t.Helper()
	got := ours(schema, value)
	if got.tooComplex() {
		return
	}
	want := theirs(schema, value)
	words = words && !(want.refused && want.words == nil)
	if got.verdict() != want.verdict() || words && got.String() != want.String() {
		t.Errorf("%s\n%s\ngot  %v\nwant %v", schema, value, got, want)
	}
}

// TestAgreesWithTheOracle compares messages too.
func TestAgreesWithTheOracle(t *testing.T) {
	for _, schema := range agreedSchemas {
		compare(t, schema, "{}", true)
	}
	for _, c := range agreedChecks {
		compare(t, c.schema, c.value, true)
	}
}

// seeds is how many schemas are made. The oracle takes a millisecond for each.
const seeds = 500

// TestAgreesWithTheOracleOnRandomSchemas: both give the same verdict for random schemas and values
// related to them.
func TestAgreesWithTheOracleOnRandomSchemas(t *testing.T) {
	for seed := range uint64(seeds) {
		schema, values := randomPair(seed)
		for _, value := range values {
			compare(t, schema, value, false)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// FuzzOracle compares only the verdicts, because in some odd cases the messages depend on the order
// of the keywords.
func FuzzOracle(tf *testing.F) {
	f := variants.Of(tf)
	for _, c := range agreedChecks {
		f.Add(c.schema, c.value)
	}
	for seed := range uint64(50) {
		schema, values := randomPair(seed)
		f.Add(schema, values[0])
	}
	f.Fuzz(func(t *testing.T, schema, value string) {
		if !differentOnPurpose.MatchString(schema) {
			compare(t, schema, value, false)
		}
	})
}

// TestFormatsAgreeWithTheOracle checks each format with texts of all kinds.
func TestFormatsAgreeWithTheOracle(t *testing.T) {
	for format, texts := range formatTexts {
		schema := fmt.Sprintf(`{"$schema":"http://json-schema.org/draft-07/schema#","format":%q}`, format)
		o, words := newOracle(schema)
		if o == nil {
			t.Fatal(words)
		}
		for _, text := range texts {
			value, err := json.Marshal(text)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := ours(schema, string(value)).words, o.check(string(value)); !slices.Equal(got, want) {
				t.Errorf("%s: %q: got %q, want %q", format, text, got, want)
			}
		}
	}
}

// TestDifferencesFromTheOracle: the intended differences exist. A row must be removed when the
// results no longer differ.
func TestDifferencesFromTheOracle(t *testing.T) {
	for _, c := range differences {
		got, old := ours(c.schema, c.value), theirs(c.schema, c.value)
		if !strings.Contains(got.String(), c.ours) || !strings.Contains(old.String(), c.theirs) || got.String() == old.String() {
			t.Errorf("%s (%s)\n%s\nours   %v, want %s\ntheirs %v, want %s", c.schema, c.why, c.value, got, c.ours, old, c.theirs)
		}
	}
}
