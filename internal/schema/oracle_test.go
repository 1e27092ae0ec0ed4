package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// An oracle is a schema compiled by another library. The library and this package must agree.
type oracle struct{ compiled *jsonschema.Schema }

type nowhere struct{}

func (nowhere) Load(string) (any, error) { return nil, errors.New("outside of the schema") }

// oracleRegexp gives a matcher the methods that the library requires.
type oracleRegexp struct {
	matcher
	text string
}

func (r oracleRegexp) String() string { return r.text }

// newOracle compiles a schema; words says why it is invalid.
func newOracle(raw string) (o *oracle, words []string) {
	doc, faults := parse(json.RawMessage(raw))
	if len(faults) > 0 {
		return nil, wordsOf(faults)
	}
	patterns := newPatternEngine()
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(nowhere{})
	c.UseRegexpEngine(func(text string) (jsonschema.Regexp, error) {
		m, err := patterns.compile(text)
		return oracleRegexp{m, text}, err
	})
	if err := c.AddResource(schemaURL, doc); err != nil {
		return nil, nil
	}
	compiled, err := c.Compile(schemaURL)
	if err != nil {
		return nil, oracleRefusal(doc, err, patterns)
	}
	return &oracle{compiled}, nil
}

// oracleRefusal returns why a schema is invalid, if the library reports a tree of errors. If it has
// only a sentence, there are no words to compare.
func oracleRefusal(doc any, err error, patterns *patternEngine) []string {
	invalid, ok := errors.AsType[*jsonschema.SchemaValidationError](err)
	if !ok {
		return nil
	}
	tree, ok := errors.AsType[*jsonschema.ValidationError](invalid.Err)
	if !ok {
		return nil
	}
	faults := oracleExplain(tree)
	_, fragment, _ := strings.Cut(invalid.URL, "#")
	if fragment, err = url.PathUnescape(fragment); err != nil {
		return nil
	}
	for i := range faults {
		faults[i].At = append(steps(fragment), faults[i].At...)
		if text, ok := valueAt(doc, faults[i].At).(string); ok && patterns.known[text].err != nil {
			m := metaCheck{patterns: patterns}
			faults[i].Message = m.badPattern(text, "")
		}
	}
	return wordsOf(faults)
}

// check returns the errors of a value.
func (o *oracle) check(raw string) []string {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(raw)))
	if err != nil {
		return []string{"is not valid JSON"}
	}
	if faults := badNumbers(v, nil); len(faults) > 0 {
		return errorsOf(v, faults)
	}
	err = o.compiled.Validate(v)
	if err == nil {
		return nil
	}
	tree, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return []string{err.Error()}
	}
	return errorsOf(v, oracleExplain(tree))
}

func errorsOf(v any, faults []Fault) []string {
	var out []string
	for _, e := range inOrder(v, faults) {
		out = append(out, e.String())
	}
	return out
}

func wordsOf(faults []Fault) []string {
	var out []string
	for _, f := range faults {
		out = append(out, f.String())
	}
	slices.Sort(out)
	return slices.Compact(out)
}
