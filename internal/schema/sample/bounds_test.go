package sample

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestAllEnds: All returns for a schema that refers to itself from many places.
func TestAllEnds(t *testing.T) {
	var properties []string
	for i := range 40 {
		properties = append(properties, fmt.Sprintf(`"p%d":{"$ref":"#"}`, i))
	}
	for _, s := range All(json.RawMessage(`{"type":"object","properties":{`+strings.Join(properties, ",")+`}}`), paths) {
		if len(s.JSON) > 1<<20 {
			t.Errorf("the %s sample has %d bytes", s.Size, len(s.JSON))
		}
	}
}
