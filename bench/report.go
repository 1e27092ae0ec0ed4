package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// Report is a whole run.
type Report struct {
	Machine  Machine   `json:"machine"`
	Quick    bool      `json:"quick"`
	Sections []Section `json:"sections"`
	Bars     []BarRow  `json:"bars"`
}

// Section is one table of the report.
type Section struct {
	Name     string `json:"name"`
	Title    string `json:"title"`
	Unit     string `json:"unit"`
	Where    string `json:"where"` // which processors it ran on
	Baseline string `json:"baseline,omitempty"`
	Rows     []Row  `json:"rows"`
}

// Row is one contestant of a section.
type Row struct {
	Name    string  `json:"name"`
	Median  float64 `json:"median"`
	P10     float64 `json:"p10"`
	P90     float64 `json:"p90"`
	Ratio   *Ratio  `json:"ratio,omitempty"` // to the baseline
	Samples int     `json:"samples"`
	Skip    string  `json:"skip,omitempty"`
}

// BarRow is one line of the table of bars.
type BarRow struct {
	What     string  `json:"what"`
	Measured float64 `json:"measured"`
	Bar      string  `json:"bar"`
	Noise    float64 `json:"noise"`
	Status   Status  `json:"status"`
	Why      string  `json:"why,omitempty"`
}

// summary makes the table of a section from its series.
func summary(s section, where string, all []Series) Section {
	out := Section{Name: s.name, Title: s.title, Unit: s.unit, Where: where, Baseline: s.baseline}
	baseline, _ := pick(all, s.baseline)
	for _, series := range all {
		out.Rows = append(out.Rows, rowOf(series, baseline))
	}
	return out
}

func rowOf(s Series, baseline *Series) Row {
	if s.Skip != "" {
		return Row{Name: s.Name, Skip: s.Skip}
	}
	samples := s.samples()
	row := Row{
		Name:    s.Name,
		Median:  median(samples),
		P10:     percentile(samples, 10),
		P90:     percentile(samples, 90),
		Samples: len(samples),
	}
	if baseline != nil {
		ratio := ratioOf(s, baseline)
		row.Ratio = &ratio
	}
	return row
}

// barRow makes a line of the table of bars from a judgement.
func barRow(j Judgement) BarRow {
	sign := "≤"
	if j.AtLeast {
		sign = "≥"
	}
	return BarRow{
		What: j.What, Measured: j.Value, Bar: sign + " " + strconv.FormatFloat(j.Limit, 'g', -1, 64), Noise: j.Noise, Status: j.Status, Why: j.Why,
	}
}

// missed reports whether the run failed.
func (r Report) missed() bool {
	return slices.ContainsFunc(r.Bars, func(b BarRow) bool { return b.Status == Missed })
}

// writeJSON prints the report for programs.
func (r Report) writeJSON(w io.Writer) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(r)
}

// writeMarkdown prints the report for people.
func (r Report) writeMarkdown(w io.Writer) error {
	text := &sticky{w: w}
	fmt.Fprintf(text, "Machine: %s.\n", r.Machine)
	if r.Quick {
		fmt.Fprint(text, "\nA quick run: fewer rounds, more noise.\n")
	}
	for _, s := range r.Sections {
		s.writeMarkdown(text)
	}
	if len(r.Bars) > 0 {
		fmt.Fprint(text, "\n### Bars\n\n")
		barTable(r.Bars).write(text)
	}
	return text.err
}

func (s Section) writeMarkdown(w io.Writer) {
	fmt.Fprintf(w, "\n### %s\n\n`--only %s`, %s.\n\n", s.Title, s.Name, s.Where)
	t := &table{head: []string{"contestant", "median " + s.Unit, "p10 – p90", "samples"}}
	if s.compared() {
		t.head = append(t.head, "of "+s.Baseline, "noise")
	}
	for _, r := range s.Rows {
		if r.Skip == "" {
			t.add(r.cells()...)
		}
	}
	if len(t.rows) > 0 {
		t.write(w)
	}
	for _, r := range s.Rows {
		if r.Skip != "" {
			fmt.Fprintf(w, "\nNot measured: %s (%s).\n", r.Name, r.Skip)
		}
	}
}

// compared reports whether the baseline was measured, so that the rows have ratios.
func (s Section) compared() bool {
	return slices.ContainsFunc(s.Rows, func(r Row) bool { return r.Ratio != nil })
}

func (r Row) cells() []string {
	cells := []string{r.Name, number(r.Median), number(r.P10) + " – " + number(r.P90), number(float64(r.Samples))}
	if r.Ratio != nil {
		cells = append(cells, times(r.Ratio.Value), percent(r.Ratio.Noise))
	}
	return cells
}

func barTable(rows []BarRow) *table {
	t := &table{head: []string{"what", "measured", "bar", "noise", "status"}}
	for _, b := range rows {
		if b.Status == NotMeasured {
			t.add(b.What, "–", b.Bar, "–", string(b.Status))
			continue
		}
		t.add(b.What, number(b.Measured), b.Bar, percent(b.Noise), string(b.Status))
	}
	return t
}

// sticky remembers the first write error, so that the functions above need not check each write.
type sticky struct {
	w   io.Writer
	err error
}

func (s *sticky) Write(p []byte) (int, error) {
	if s.err == nil {
		_, s.err = s.w.Write(p)
	}
	return len(p), nil
}
