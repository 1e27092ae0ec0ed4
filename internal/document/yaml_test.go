package document

import (
	"fmt"
	"testing"
)

// TestYAML: the getters work for YAML, with its words in messages. The limits and the reading of
// scalars are tested with manifests in internal/dialect/kaged.
func TestYAML(t *testing.T) {
	top, err := YAML("m.yaml", []byte("name: 7\nlist: x\n\"odd key\": {b: 1, a: [2.50]}\nextra: 1\nextra: 2\n"))
	if err != nil {
		t.Fatal(err)
	}
	top.Text("name", "")
	top.List("list")
	top.Value("version").Required()
	odd := top.Value("odd key")
	odd.Below([]string{"a", "0", "deeper"}).Warn("", "stands here")
	top.EndWarning()
	if got := string(odd.JSON()); got != `{"b":1,"a":[2.50]}` {
		t.Errorf("as JSON it is %s", got)
	}
	want := `m.yaml:1:1: version: is required; write version: …
m.yaml:1:7: name: must be a string, got a number; put it into quotes: "…"
m.yaml:2:7: list: must be a list of strings, got a string; put it into brackets: […]
m.yaml:5:1: extra: the key occurs twice, first in line 4
[m.yaml:3:23: ["odd key"].a[0]: stands here m.yaml:4:1: extra: unknown key, ignored; known here: name, list, version, odd key]`
	if got := fmt.Sprintf("%v\n%v", top.Err(), top.Warnings()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
