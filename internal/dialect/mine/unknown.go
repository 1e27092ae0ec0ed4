package mine

import (
	"fmt"
	"slices"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/nearest"
)

// The fields of an answer and of its context. An answer may repeat the fields of its invocation.
var (
	answerFields  = []string{"status", "context", "error", "code"}
	repeatFields  = []string{"protocol_version", "type", "stage", "mode"}
	contextFields = []string{"command", "args", "flags", "result", "timestamp"}
)

// mostUnknown limits how many unknown fields of an object are noted; an author corrects them one by
// one.
const mostUnknown = 5

// noteUnknown notes the fields of an object that the protocol does not know. They are ignored, and
// may be misspelt: docs/protocols/mine.md, row M62.
func (c *changes) noteUnknown(where string, o hook.Object, known []string) {
	noted := 0
	for _, f := range o {
		if slices.Contains(known, f.Name) || noted == mostUnknown {
			continue
		}
		noted++
		c.notes = append(c.notes, fmt.Sprintf("%s has the unknown field %q, which is ignored; %s", where, cut(f.Name), nearest.Suggest(f.Name, known)))
	}
}

// noteAnswer notes the unknown fields of an answer, and those that belong into its context.
func (c *changes) noteAnswer(o hook.Object) {
	inside := slices.DeleteFunc(slices.Clone(contextFields), func(name string) bool { return o.Get(name) == nil })
	for _, name := range inside {
		c.notes = append(c.notes, fmt.Sprintf("the answer has %q beside context, where it is ignored; put it into context", name))
	}
	rest := slices.DeleteFunc(slices.Clone(o), func(f hook.Field) bool {
		return slices.Contains(inside, f.Name) || slices.Contains(repeatFields, f.Name)
	})
	c.noteUnknown("the answer", rest, answerFields)
}
