package conformance

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestJUnit: the output can be parsed, whatever a plugin said.
func TestJUnit(t *testing.T) {
	hostile := "</failure> \"&<>\x00\x1b[31m\xff\ufffe\nline"
	r := &Report{Plugin: "a<b", Dialect: "scaffold", Checks: []Result{
		{ID: "a", Status: Pass}, {ID: "b", Status: Fail, Message: hostile, Spec: hostile, Fix: "f"}, {ID: "c", Status: Warn, Message: hostile}, {ID: "d", Status: Skip, Message: hostile}}}
	path := filepath.Join(t.TempDir(), "report.xml")
	if err := WriteJUnit(path, r, 1500*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Name     string `xml:"name,attr"`
		Tests    int    `xml:"tests,attr"`
		Failures int    `xml:"failures,attr"`
		Skipped  int    `xml:"skipped,attr"`
		Time     string `xml:"time,attr"`
		Cases    []struct {
			Name    string `xml:"name,attr"`
			Failure *struct {
				Message string `xml:"message,attr"`
				Text    string `xml:",chardata"`
			} `xml:"failure"`
			Skipped *struct{} `xml:"skipped"`
			Output  string    `xml:"system-out"`
		} `xml:"testcase"`
	}
	if err := xml.Unmarshal(text, &got); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	want := "</failure> \"&<>[31m\uFFFD\nline"
	if got.Name != "a<b (scaffold)" || got.Tests != 4 || got.Failures != 1 || got.Skipped != 1 || got.Time != "1.500" || len(got.Cases) != 4 {
		t.Fatalf("got %+v", got)
	}
	if f := got.Cases[1].Failure; f == nil || f.Message != want || got.Cases[0].Failure != nil || got.Cases[2].Output == "" || got.Cases[3].Skipped == nil {
		t.Errorf("got %+v", got.Cases)
	}
}
