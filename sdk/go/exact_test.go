package plugin

import (
	"reflect"
	"testing"
)

// TestExactNames: a field that is written in another case is another field, at any depth.
func TestExactNames(t *testing.T) {
	type place struct {
		Path string `json:"path"`
	}
	type base struct {
		Mode string `json:"mode"`
	}
	type arguments struct {
		base
		place  `json:"at"`
		Name   string
		Files  []place          `json:"files"`
		ByName map[string]place `json:"by_name"`
		Any    any              `json:"any"`
	}
	for text, want := range map[string]arguments{
		`{"mode":"a","MODE":"b","name":"x"}`:                                   {base: base{"a"}, Name: "x"}, // its tag has no name
		`{"NAME":"x","Name":"y","name":"z"}`:                                   {Name: "y"},
		`{"MODE":"b","Name":"x","other":1}`:                                    {Name: "x"},
		`{"files":[{"path":"a","Path":"b"},{"PATH":"c"}]}`:                     {Files: []place{{"a"}, {}}},
		`{"by_name":{"x":{"path":"a","PATH":"b"},"X":{"path":"c"}}}`:           {ByName: map[string]place{"x": {"a"}, "X": {"c"}}},
		`{"any":{"path":1,"PATH":2},"mode":"\u0061","\u006Dode":"c","Mode":1}`: {base: base{"c"}, Any: map[string]any{"path": 1.0, "PATH": 2.0}},
	} {
		e := ToolEvent{Arguments: []byte(text)}
		var got arguments
		if err := e.Decode(&got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v, want %+v", text, got, err, want)
		}
	}
	var got arguments
	if err := decodeExact([]byte(`{"mode":`), &got); err == nil {
		t.Error("half an object was accepted")
	}
	var all map[string]any
	if err := decodeExact([]byte(`{"a":1,"A":2}`), &all); err != nil || len(all) != 2 {
		t.Errorf("%v, %v", all, err)
	}
}

// TestExactNamesOfATree: a struct may embed a pointer to itself, and have fields of its own type.
func TestExactNamesOfATree(t *testing.T) {
	type Tree struct {
		*Tree
		Name string  `json:"name"`
		Sub  []*Tree `json:"sub"`
	}
	var got Tree
	if err := decodeExact([]byte(`{"name":"a","NAME":"b","sub":[{"name":"c","Name":"d"}]}`), &got); err != nil || got.Name != "a" || got.Sub[0].Name != "c" {
		t.Errorf("%+v, %v", got, err)
	}
}
