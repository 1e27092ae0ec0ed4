package metrics

import (
	"bytes"
	"math"
	"net/http"
	"strconv"
	"strings"
)

// ServeHTTP writes all metrics.
func (r *Registry) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write(r.text()) // an error means that the client has gone
}

func (r *Registry) text() []byte {
	var p page
	for _, f := range r.sorted() {
		p.heading = f.head()
		f.write(&p)
	}
	return p.text.Bytes()
}

// A page is the text that is being built.
type page struct {
	text    bytes.Buffer
	heading *heading // of the next family; nil after it was written. A family without values gets no heading
}

var (
	helpEscapes  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	valueEscapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
)

// number adds the line of one value.
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

// formatNumber formats a value for the text format.
func formatNumber(n float64) string {
	switch {
	case math.IsInf(n, 1):
		return "+Inf"
	case math.IsInf(n, -1):
		return "-Inf"
	}
	return strconv.FormatFloat(n, 'g', -1, 64)
}
