package metrics

import (
	"bytes"
	"math"
	"net/http"
	"strconv"
	"strings"
)

// ServeHTTP shows everything.
func (r *Registry) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write(r.text()) // whoever asked is gone
}

func (r *Registry) text() []byte {
	var p page
	for _, f := range r.sorted() {
		p.heading = f.head()
		f.write(&p)
	}
	return p.text.Bytes()
}

// A page is what is shown, in the making.
type page struct {
	text    bytes.Buffer
	heading *heading // of the family that comes; nil once it was written: one without numbers has none
}

var (
	helpEscapes  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	valueEscapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
)

// number adds a line.
func (p *page) number(name string, labels, values []string, n float64) {
	if h := p.heading; h != nil {
		p.text.WriteString("# HELP " + h.name + " " + helpEscapes.Replace(h.help) + "\n# TYPE " + h.name + " " + string(h.kind) + "\n")
		p.heading = nil
	}
	p.text.WriteString(name)
	for i, label := range labels {
		p.text.WriteByte("{,"[min(i, 1)])
		p.text.WriteString(label + `="` + valueEscapes.Replace(values[i]) + `"`)
	}
	if len(labels) > 0 {
		p.text.WriteByte('}')
	}
	p.text.WriteString(" " + formatNumber(n) + "\n")
}

// formatNumber is a number in the words of the format.
func formatNumber(n float64) string {
	switch {
	case math.IsInf(n, 1):
		return "+Inf"
	case math.IsInf(n, -1):
		return "-Inf"
	}
	return strconv.FormatFloat(n, 'g', -1, 64)
}
