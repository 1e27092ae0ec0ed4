// Package metrics provides metrics of a program for Prometheus: counters, histograms, and values
// that are read at each request, in the text format (version 0.0.4). Names and labels are fixed and
// few; label values may be any text.
package metrics

import (
	"slices"
	"strings"
	"sync"
)

// A Registry holds the metrics that are shown together. It is safe for concurrent use.
type Registry struct {
	mu       sync.Mutex // protects families
	families []family
}

// A family is all metrics with one name.
type family interface {
	head() *heading
	write(p *page)
}

// A Kind is the type of a metric in Prometheus.
type Kind string

// The kinds of metrics that are read at each request.
const (
	Counted  Kind = "counter" // it never decreases
	Measured Kind = "gauge"
)

// A heading is what the text format has before the values of a family.
type heading struct {
	name, help string
	kind       Kind
	labels     []string
}

func (h *heading) head() *heading { return h }

func (r *Registry) add(f family) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.families = append(r.families, f)
}

// sorted returns the families by name.
func (r *Registry) sorted() []family {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := slices.Clone(r.families)
	slices.SortFunc(list, func(a, b family) int { return strings.Compare(a.head().name, b.head().name) })
	return list
}

// A series holds values by the values of their labels.
type series[T any] struct {
	mu     sync.Mutex // protects values, and what they point to
	values map[string]T
}

// separator separates label values in a key. It is not valid in UTF-8.
const separator = "\xff"

// change changes one value.
func (s *series[T]) change(values []string, change func(T) T) {
	var key strings.Builder
	for i, value := range values {
		if i > 0 {
			key.WriteString(separator)
		}
		key.WriteString(strings.ToValidUTF8(value, "\uFFFD"))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.values == nil {
		s.values = make(map[string]T)
	}
	s.values[key.String()] = change(s.values[key.String()])
}

// each calls show with each value, sorted by the values of the labels.
func (s *series[T]) each(show func(values []string, n T)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	keys := make([]string, 0, len(s.values))
	for key := range s.values {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		show(strings.Split(key, separator), s.values[key])
	}
}

// A Counter is a value that only grows.
type Counter struct {
	heading
	series series[float64]
}

// Counter makes a counter. Its name ends with _total.
func (r *Registry) Counter(name, help string, labels ...string) *Counter {
	c := &Counter{heading: heading{name, help, Counted, labels}}
	r.add(c)
	return c
}

// Add adds n to the counter with these label values.
func (c *Counter) Add(n float64, values ...string) {
	c.series.change(values, func(old float64) float64 { return old + n })
}

func (c *Counter) write(p *page) {
	c.series.each(func(values []string, n float64) { p.number(c.name, c.labels, values, n) })
}

// A Histogram counts values by range.
type Histogram struct {
	heading
	bounds []float64
	series series[*distribution]
}

type distribution struct {
	counts []uint64 // for each bound, and above the last one
	sum    float64
}

// Histogram makes a histogram with these upper bounds, in ascending order.
func (r *Registry) Histogram(name, help string, bounds []float64, labels ...string) *Histogram {
	h := &Histogram{heading: heading{name, help, "histogram", labels}, bounds: bounds}
	r.add(h)
	return h
}

// Observe counts one value.
func (h *Histogram) Observe(v float64, values ...string) {
	h.series.change(values, func(d *distribution) *distribution {
		if d == nil {
			d = &distribution{counts: make([]uint64, len(h.bounds)+1)}
		}
		at, _ := slices.BinarySearch(h.bounds, v) // a value that equals a bound belongs to that range
		d.counts[at]++
		d.sum += v
		return d
	})
}

func (h *Histogram) write(p *page) {
	labels := append(slices.Clone(h.labels), "le")
	h.series.each(func(values []string, d *distribution) {
		count := uint64(0)
		for i, n := range d.counts {
			count += n
			p.number(h.name+"_bucket", labels, append(slices.Clone(values[:len(h.labels)]), h.bound(i)), float64(count))
		}
		p.number(h.name+"_sum", h.labels, values, d.sum)
		p.number(h.name+"_count", h.labels, values, float64(count))
	})
}

func (h *Histogram) bound(i int) string {
	if i == len(h.bounds) {
		return "+Inf"
	}
	return formatNumber(h.bounds[i])
}

// A Show function takes one value with its label values.
type Show func(n float64, values ...string)

// An observedFamily is read at each request.
type observedFamily struct {
	heading
	read func(Show)
}

// Observe adds a metric. read is called at each request, and calls its Show with each value.
func (r *Registry) Observe(kind Kind, name, help string, labels []string, read func(Show)) {
	r.add(&observedFamily{heading{name, help, kind, labels}, read})
}

func (o *observedFamily) write(p *page) {
	var now series[float64]
	o.read(func(n float64, values ...string) { now.change(values, func(old float64) float64 { return old + n }) })
	now.each(func(values []string, n float64) { p.number(o.name, o.labels, values, n) })
}
