package schema

import (
	"encoding/json"
	"strings"
	"testing"
)

// deepAndWrong returns nested lists whose items are all wrong, so that each fault has a long path.
func deepAndWrong(depth, items int) json.RawMessage {
	return json.RawMessage(strings.Repeat("[", depth) + strings.Repeat("1,", items-1) + "1" + strings.Repeat("]", depth))
}

func TestThePathsOfFaultsAreBounded(t *testing.T) {
	const depth, items = 200, 15_000
	v, err := decode(deepAndWrong(depth, items))
	if err != nil {
		t.Fatal(err)
	}
	doc := map[string]any{"items": map[string]any{"anyOf": []any{map[string]any{"type": "array", "$ref": "#"}, map[string]any{"type": "string"}}}}
	n, faults := compile(doc, newPatternEngine())
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	got, ok := checkValue(n, v)
	steps := 0
	for _, f := range got {
		steps += len(f.At)
	}
	if !ok || len(got) == 0 || steps > maxSteps+depth {
		t.Errorf("ok %v, %d faults with %d steps", ok, len(got), steps)
	}
}

// TestAValueThatDoesNotFitHasAFault: a value that does not fit has a fault, even if the messages
// about alternatives have used up the limit.
func TestAValueThatDoesNotFitHasAFault(t *testing.T) {
	s, faults := Compile(json.RawMessage(`{"oneOf":[{"items":{"anyOf":[{"$ref":"#/$defs/deep"},{"type":"string"}]}},true,true],"$defs":{"deep":{"items":{"anyOf":[{"$ref":"#/$defs/deep"},{"type":"string"}]},"type":"array"}}}`))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	if errs := s.Check(deepAndWrong(200, 15_000)); len(errs) != 1 || errs[0].Message != "does not fit the schema" {
		t.Error(errs)
	}
}

// TestAPointerMayWriteAnIndexWithZeros: an item that is referred to in two ways is one schema.
func TestAPointerMayWriteAnIndexWithZeros(t *testing.T) {
	s, faults := Compile(json.RawMessage(`{"allOf":[{"$anchor":"a","type":"string"}],"$ref":"#/allOf/00"}`))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	if errs := s.Check(json.RawMessage("1")); len(errs) != 1 {
		t.Error(errs)
	}
}
