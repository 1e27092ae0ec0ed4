package main

import (
	"math"
	"strings"
	"testing"
)

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 2: "2", 1.4: "1.40", 11.62: "11.6", 0.1234: "0.123", 123.4: "123", 1234.5: "1,235", 1234567: "1,234,567", math.NaN(): "–",
	} {
		if got := number(v); got != want {
			t.Errorf("number(%v) = %q, want %q", v, got, want)
		}
	}
}

func TestTableIsPaddedMarkdown(t *testing.T) {
	table := &table{head: []string{"who", "µs"}}
	table.add("a longer one", "1")
	table.add("b", "1,000")
	want := `
| who          |    µs |
| ------------ | ----: |
| a longer one |     1 |
| b            | 1,000 |
`
	var got strings.Builder
	table.write(&got)
	if got.String() != want[1:] {
		t.Errorf("got\n%swant%s", got.String(), want)
	}
}

func TestReportSaysWhatWasNotMeasured(t *testing.T) {
	series := []Series{{Name: "here", Rounds: [][]float64{{1, 2, 3}}}, {Name: "gone", Skip: "no such thing"}}
	report := Report{Sections: []Section{summary(section{name: "s", title: "T", unit: "µs", baseline: "here"}, "somewhere", series)}}
	var text strings.Builder
	if err := report.writeMarkdown(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Not measured: gone (no such thing).", "1.00 ×", "somewhere"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("report lacks %q:\n%s", want, text.String())
		}
	}
}
