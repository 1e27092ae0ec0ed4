package mcp

import (
	"errors"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// mostQuestions limits how many questions a tool asks at once. The MCP library asks them all at the
// same time.
const mostQuestions = 100

// checkQuestions refuses questions that would crash the MCP library.
func checkQuestions(all sdk.InputRequestMap) error {
	if len(all) > mostQuestions {
		return fmt.Errorf("%d questions at once: at most %d are allowed", len(all), mostQuestions)
	}
	for _, one := range all {
		if p, ok := one.(*sdk.ElicitParams); ok {
			if err := checkQuestion(p); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkQuestion refuses a question with a reference in its schema, which the protocol does not
// allow. When the library checks the answer, it would follow a reference to the schema itself until
// the stack overflows, which ends the process.
func checkQuestion(p *sdk.ElicitParams) error {
	if hasReference(p.RequestedSchema) {
		return errors.New("the schema of a question may not contain a reference ($ref)")
	}
	return nil
}

// hasReference reports whether a schema contains a reference. A property may also be called $ref.
// Its value is then a schema, not a text.
func hasReference(schema any) bool {
	switch v := schema.(type) {
	case map[string]any:
		for key, value := range v {
			_, isText := value.(string)
			if isText && (key == "$ref" || key == "$dynamicRef") || hasReference(value) {
				return true
			}
		}
	case []any:
		for _, value := range v {
			if hasReference(value) {
				return true
			}
		}
	}
	return false
}
