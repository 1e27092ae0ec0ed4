package main

import (
	"math"
	"slices"
)

// Series is all samples of one contestant in a section, by round.
type Series struct {
	Name   string      `json:"name"`
	Rounds [][]float64 `json:"rounds,omitempty"`
	Skip   string      `json:"skip,omitempty"` // why it did not take part
}

// samples returns the samples of all rounds.
func (s Series) samples() []float64 { return slices.Concat(s.Rounds...) }

// roundMedians returns the median of each round.
func (s Series) roundMedians() []float64 {
	medians := make([]float64, len(s.Rounds))
	for i, round := range s.Rounds {
		medians[i] = median(round)
	}
	return medians
}

// Ratio compares two series: it is the median, over the rounds, of the quotient of their medians in
// each round. Both took their turns of a round within milliseconds, so other load slowed both, and
// the quotient varies less than each of them.
type Ratio struct {
	Value float64 `json:"value"`
	Noise float64 `json:"noise"` // see spread
}

// ratioOf compares a with b. If b is nil, the values of a count. Rounds that only one of them has
// are left out.
func ratioOf(a Series, b *Series) Ratio {
	quotients := a.roundMedians()
	if b != nil {
		quotients = divide(quotients, b.roundMedians())
	}
	return Ratio{Value: median(quotients), Noise: spread(quotients)}
}

// minus returns, for each round, the difference of the medians of s and other. It returns nil if s
// is nil.
func (s *Series) minus(other *Series) *Series {
	if s == nil {
		return nil
	}
	out := &Series{Name: s.Name}
	a, b := s.roundMedians(), other.roundMedians()
	for i := range min(len(a), len(b)) {
		out.Rounds = append(out.Rounds, []float64{a[i] - b[i]})
	}
	return out
}

// divide returns a[i]/b[i] for the indices both have.
func divide(a, b []float64) []float64 {
	n := min(len(a), len(b))
	quotients := make([]float64, n)
	for i := range n {
		quotients[i] = a[i] / b[i]
	}
	return quotients
}

// median returns the median of values, or NaN if there are none.
func median(values []float64) float64 { return percentile(values, 50) }

// spread returns half the distance between the quartiles, relative to the median. Half of all
// rounds are between the quartiles. A bar may be missed by this noise.
func spread(values []float64) float64 {
	m := median(values)
	if m == 0 {
		return 0 // the quartiles of counts around zero have no relative meaning
	}
	return (percentile(values, 75) - percentile(values, 25)) / 2 / m
}

// percentile returns the value below which p per cent of values are, interpolated between
// neighbours, or NaN if there are none. It does not change values.
func percentile(values []float64, p float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	at := p / 100 * float64(len(sorted)-1)
	below := int(at)
	if below+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[below] + (at-float64(below))*(sorted[below+1]-sorted[below])
}
