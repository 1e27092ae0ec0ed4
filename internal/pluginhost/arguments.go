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

// Misfits returns the reasons why args do not fit the tool's schema, or none if they fit. It is for
// tools that a person calls, so that the plugin is not sent arguments that it does not accept. The
// calls of a model are checked in adapter.ToolCall. A schema that cannot be used accepts
// everything; Doctor reports it.
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

// unknownArgument returns a sentence about the first argument that the tool does not have, with the
// name that was probably meant.
func unknownArgument(t Tool, args json.RawMessage) string {
	var parameters struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	_ = json.Unmarshal(t.Parameters, &parameters) // a schema of another form declares no arguments
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
