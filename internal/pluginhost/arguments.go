package pluginhost

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/schema"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// Misfits are the reasons why a tool does not take some arguments; none where it does. It is for
// whoever calls a tool by hand, so that a plugin is not sent what it has said it cannot take; what
// a model calls is checked on the way of every call, in adapter.ToolCall. A schema that cannot be
// used checks nothing: the doctor tells of it.
func Misfits(t Tool, args json.RawMessage) []string {
	var reasons []string
	for _, e := range schema.Misfits(t.Parameters, args) {
		reasons = append(reasons, e.String())
	}
	if unknown := unknownArgument(t, args); len(reasons) > 0 && unknown != "" {
		reasons = append(reasons, unknown)
	}
	return reasons
}

// unknownArgument names the first argument that the tool does not have and the one that was
// probably meant.
func unknownArgument(t Tool, args json.RawMessage) string {
	var parameters struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	_ = json.Unmarshal(t.Parameters, &parameters) // a schema of another form names no arguments
	known := append(slices.Sorted(maps.Keys(parameters.Properties)), parameters.Required...)
	object, err := rawjson.Parse(args)
	if err != nil {
		return ""
	}
	for _, f := range object {
		if !slices.Contains(known, f.Name) {
			return strings.TrimSuffix(fmt.Sprintf("it has no argument %q: %s", f.Name, dialect.Meant(f.Name, known)), ": ")
		}
	}
	return ""
}
