package mine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/nearest"
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
		c.ignore(fmt.Sprintf("the answer has %q beside context, where it is ignored; put it into context", name))
	}
	switch v := o.Get("error"); {
	case !rawjson.Missing(v) && string(v) != `""`:
		c.ignore(`the answer has an error, which is ignored: it counts only as a string, with the status "error" or without a status`)
	case len(o) > 0 && !slices.ContainsFunc(o, func(f hook.Field) bool { return slices.Contains(answerFields, f.Name) }):
		c.ignore("the answer has none of " + strings.Join(answerFields, ", ") + ", so it changes nothing")
	}
	rest := slices.DeleteFunc(slices.Clone(o), func(f hook.Field) bool {
		return slices.Contains(inside, f.Name) || slices.Contains(repeatFields, f.Name)
	})
	c.noteUnknown("the answer", rest, answerFields)
}

// ignore adds a note on something of the answer that has no effect, and that the plugin may have
// meant. It is logged too, because a guard that is not understood lets everything pass.
func (c *changes) ignore(note string) {
	c.notes, c.ignored = append(c.notes, note), append(c.ignored, note)
}

// noteUnknown notes unknown fields. A field of the answer in its context, and a misspelt field, are
// probably meant; any other may be one of the plugin's own.
func (c *changes) noteUnknown(where string, o hook.Object, known []string) {
	own := slices.Clone(o)
	for _, f := range o {
		switch {
		case slices.Contains(known, f.Name) || len(c.ignored) >= dialect.MostUnknown:
			continue
		case where == "context" && slices.Contains(answerFields, f.Name):
			c.ignore(fmt.Sprintf("context has %q, which is ignored there; put it beside context", f.Name))
		case nearest.Word(f.Name, known) != "":
			c.ignore(dialect.UnknownField(where, f.Name, known))
		default:
			continue
		}
		own = slices.DeleteFunc(own, func(other hook.Field) bool { return other.Name == f.Name })
	}
	c.notes = append(c.notes, dialect.UnknownFields(where, own, known)...)
}
