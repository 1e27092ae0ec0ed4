package mine

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// resultFields are the fields of a program's result, as `patchbay run` makes it.
var resultFields = []string{"stdout", "stderr", "exit_code"}

// keepResult completes the result in a reply about a program that has run: a field that is left out
// stays as it is, and a string replaces stdout. A result of another form is an error, because it
// would lose the exit code: docs/protocols/mine.md, row M63. Results of embedding programs have any
// form, and are not touched.
func (c *changes) keepResult(shown *hookContext) error {
	was := programResult(shown.result)
	if was == nil || !c.changesResult(shown) {
		return nil
	}
	now := hook.Object{{Name: "stdout", Value: c.result}}
	switch c.result[0] {
	case '"':
	case '{':
		var err error
		if now, err = parseForeign("context.result", c.result); err != nil {
			return err
		}
		c.noteUnknown("context.result", now, resultFields)
	default:
		return garbled(`parse error: context.result is neither {"stdout","stderr","exit_code"} nor a string: %q`, cut(string(c.result)))
	}
	whole := was
	for _, name := range resultFields {
		value := now.Get(name)
		if value == nil {
			continue
		}
		if err := checkResultField(name, value, was.Get(name)); err != nil {
			return err
		}
		whole = whole.With(hook.Field{Name: name, Value: value})
	}
	c.result = whole.JSON()
	return nil
}

// checkResultField checks the type of one field of a program's result.
func checkResultField(name string, value, was json.RawMessage) error {
	if name != "exit_code" {
		if value[0] != '"' {
			return garbled("parse error: context.result.%s is not a string: %q", name, cut(string(value)))
		}
		return nil
	}
	// The system keeps the last eight bits of an exit code, so that 256 would be a success.
	if code, err := strconv.Atoi(string(value)); (err != nil || code < 0 || code > 255) && !bytes.Equal(value, was) {
		return garbled("parse error: context.result.exit_code is not a whole number from 0 to 255: %q", cut(string(value)))
	}
	return nil
}

// programResult returns the result of a program that has run, or nil if raw is another result.
func programResult(raw json.RawMessage) hook.Object {
	if rawjson.Missing(raw) || raw[0] != '{' {
		return nil
	}
	o, err := rawjson.Parse(raw)
	if err != nil || len(o) != len(resultFields) {
		return nil
	}
	if slices.ContainsFunc(o, func(f hook.Field) bool { return !slices.Contains(resultFields, f.Name) }) {
		return nil
	}
	return o
}
