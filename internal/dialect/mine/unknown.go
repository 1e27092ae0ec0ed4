package mine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// The fields of an answer and of its context. An answer may repeat the fields of its invocation.
var (
	answerFields  = []string{"status", "context", "error", "code"}
	repeatFields  = []string{"protocol_version", "type", "stage", "mode"}
	contextFields = []string{"command", "args", "flags", "result", "timestamp"}
	changeable    = contextFields[:4]
)

// noteAnswer notes the unknown fields of an answer, and those that belong into its context:
// docs/protocols/mine.md, row M62.
func (c *changes) noteAnswer(o hook.Object) {
	inside := slices.DeleteFunc(slices.Clone(contextFields), func(name string) bool { return o.Get(name) == nil })
	for _, name := range inside {
		c.notes = append(c.notes, fmt.Sprintf("the answer has %q beside context, where it is ignored; put it into context", name))
	}
	switch v := o.Get("error"); {
	case !rawjson.Missing(v) && string(v) != `""`:
		c.refusal = `the answer has an error, which is ignored: it counts only as a string, with the status "error" or without a status`
	case len(o) > 0 && !slices.ContainsFunc(o, func(f hook.Field) bool { return slices.Contains(answerFields, f.Name) }):
		c.refusal = "the answer has none of " + strings.Join(answerFields, ", ") + ", so it changes nothing"
	}
	if c.refusal != "" {
		c.notes = append(c.notes, c.refusal)
	}
	rest := slices.DeleteFunc(slices.Clone(o), func(f hook.Field) bool {
		return slices.Contains(inside, f.Name) || slices.Contains(repeatFields, f.Name)
	})
	c.notes = append(c.notes, dialect.UnknownFields("the answer", rest, answerFields)...)
}
