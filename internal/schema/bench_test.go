package schema

import (
	"encoding/json"
	"testing"
)

// A schema and a value such as tools of plugins have.
const (
	benchSchema = `{
		"type": "object",
		"required": ["path", "edits"],
		"additionalProperties": false,
		"properties": {
			"path": {"type": "string", "minLength": 1, "maxLength": 4096},
			"mode": {"enum": ["append", "replace", "insert"]},
			"limit": {"type": "integer", "minimum": 1, "maximum": 1000},
			"edits": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/edit"}}
		},
		"$defs": {
			"edit": {
				"type": "object",
				"required": ["line"],
				"properties": {
					"line": {"type": "integer", "minimum": 0},
					"text": {"anyOf": [{"type": "string"}, {"type": "null"}]},
					"tag": {"type": "string", "pattern": "^[a-z]+$"}
				}
			}
		}
	}`
	benchValue = `{"path":"a/b/c.go","mode":"replace","limit":10,"edits":[{"line":1,"text":"x","tag":"a"},{"line":2,"text":null},{"line":300,"text":"some longer text","tag":"abc"}]}`
	benchBad   = `{"path":"","mode":"remove","limit":0,"edits":[{"line":-1,"text":1,"tag":"A"},{"text":null}],"more":1}`
)

func BenchmarkCompile(b *testing.B) {
	b.Run("ours", func(b *testing.B) {
		for b.Loop() {
			if _, faults := Compile(json.RawMessage(benchSchema)); len(faults) > 0 {
				b.Fatal(faults)
			}
		}
	})
	b.Run("oracle", func(b *testing.B) {
		for b.Loop() {
			if o, words := newOracle(benchSchema); o == nil {
				b.Fatal(words)
			}
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	s, faults := Compile(json.RawMessage(benchSchema))
	if len(faults) > 0 {
		b.Fatal(faults)
	}
	o, words := newOracle(benchSchema)
	if o == nil {
		b.Fatal(words)
	}
	for name, value := range map[string]string{"fits": benchValue, "does not fit": benchBad} {
		b.Run(name+"/ours", func(b *testing.B) {
			for b.Loop() {
				if errs := s.Check(json.RawMessage(value)); (len(errs) == 0) != (name == "fits") {
					b.Fatal(errs)
				}
			}
		})
		b.Run(name+"/oracle", func(b *testing.B) {
			for b.Loop() {
				if errs := o.check(value); (len(errs) == 0) != (name == "fits") {
					b.Fatal(errs)
				}
			}
		})
	}
}
