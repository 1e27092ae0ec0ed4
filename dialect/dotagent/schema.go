package dotagent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// What a schema may ask of the host. It comes from the plugin, and a few lines
// can cost more than there is time for: definitions that each refer twice to the
// next double the work with every one, and a number may have an exponent of a
// billion. People's schemas of a config have a handful of references.
const (
	mostSchema     = 256 << 10
	mostReferences = 32
	longestNumber  = 64
	mostFaults     = 20
)

// A schema is a plugin's JSON Schema of its config. It is safe for concurrent use.
type schema struct{ compiled *jsonschema.Schema }

// outside refuses everything that is not in the schema itself: a plugin must
// not make the host read files or fetch addresses.
type outside struct{}

func (outside) Load(url string) (any, error) {
	return nil, fmt.Errorf("%q is outside of the schema", cut([]byte(url)))
}

// schemaURL gives references something to start from. Nothing is to be found there.
const schemaURL = "info:///schema"

func compileSchema(raw json.RawMessage) (*schema, error) {
	if err := tame(raw); err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(outside{})
	if err := c.AddResource(schemaURL, doc); err != nil {
		return nil, err
	}
	compiled, err := c.Compile(schemaURL)
	if invalid, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		return nil, faults("schema", invalid.Err)
	}
	if err != nil {
		return nil, errors.New(cut([]byte(err.Error())))
	}
	return &schema{compiled}, nil
}

// tame holds a schema, or a value to be checked, against the bounds above.
func tame(raw json.RawMessage) error {
	if len(raw) > mostSchema {
		return fmt.Errorf("it has over %d KiB", mostSchema>>10)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	references := 0
	for {
		token, err := d.Token()
		if err != nil {
			return nil // the end, or a fault that the parser will name
		}
		switch token := token.(type) {
		case json.Number:
			if !shortNumber(string(token)) {
				return fmt.Errorf("the number %q is too long", cut([]byte(token)))
			}
		case string:
			if token == "$ref" || token == "$dynamicRef" || token == "$recursiveRef" {
				references++
			}
		}
		if references > mostReferences {
			return fmt.Errorf("it has over %d references", mostReferences)
		}
	}
}

// shortNumber: few digits, and an exponent of two at most.
func shortNumber(n string) bool {
	_, exponent, _ := strings.Cut(strings.ToLower(n), "e")
	return len(n) <= longestNumber && len(strings.TrimLeft(exponent, "+-0")) <= 2
}

// check names everything in a config that does not fit. A nil schema allows all.
func (s *schema) check(config json.RawMessage) error {
	if s == nil {
		return nil
	}
	if err := tame(config); err != nil {
		return err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(config))
	if err != nil {
		return err
	}
	return faults("config", s.compiled.Validate(doc))
}

// faults puts the library's tree of errors on one line; root is what it is about.
func faults(root string, err error) error {
	invalid, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return err
	}
	all := leaves(root, invalid, message.NewPrinter(language.English))
	all = slices.Compact(slices.Sorted(slices.Values(all)))
	if more := len(all) - mostFaults; more > 0 {
		all = append(all[:mostFaults], fmt.Sprintf("and %d more", more))
	}
	return errors.New(strings.Join(all, "; "))
}

// leaves are what is really wrong: the ends of the tree.
func leaves(root string, e *jsonschema.ValidationError, p *message.Printer) []string {
	if len(e.Causes) == 0 {
		path := strings.Join(append([]string{root}, e.InstanceLocation...), ".")
		return []string{cut([]byte(path)) + ": " + cut([]byte(e.ErrorKind.LocalizedString(p)))}
	}
	var all []string
	for _, cause := range e.Causes {
		all = append(all, leaves(root, cause, p)...)
	}
	return all
}
