package main

import (
	"math"
	"slices"
	"testing"
)

func TestPercentile(t *testing.T) {
	for _, c := range []struct {
		name   string
		values []float64
		p      float64
		want   float64
	}{
		{"the median of an odd number is the middle one", []float64{9, 1, 5}, 50, 5},
		{"the median of an even number lies between the middle two", []float64{4, 1, 2, 3}, 50, 2.5},
		{"one value is every percentile", []float64{7}, 90, 7},
		{"neighbours are interpolated", []float64{0, 10, 20, 30, 40}, 90, 36},
		{"the hundredth is the greatest", []float64{3, 1, 2}, 100, 3},
		{"the zeroth is the least", []float64{3, 1, 2}, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := percentile(c.values, c.p); got != c.want {
				t.Errorf("percentile(%v, %v) = %v, want %v", c.values, c.p, got, c.want)
			}
		})
	}
	t.Run("no values have no median", func(t *testing.T) {
		if got := median(nil); !math.IsNaN(got) {
			t.Errorf("median of nothing = %v, want NaN", got)
		}
	})
	t.Run("the caller's slice is not sorted", func(t *testing.T) {
		values := []float64{3, 1, 2}
		median(values)
		if !slices.Equal(values, []float64{3, 1, 2}) {
			t.Errorf("values became %v", values)
		}
	})
}

func TestSpread(t *testing.T) {
	t.Run("half the distance of the quartiles over the median", func(t *testing.T) {
		if got := spread([]float64{8, 9, 10, 11, 12}); got != 0.1 { // quartiles 9 and 11
			t.Errorf("spread = %v, want 0.1", got)
		}
	})
	t.Run("one outlier does not widen it", func(t *testing.T) {
		if got := spread([]float64{8, 9, 10, 11, 1e9}); got != 0.1 {
			t.Errorf("spread = %v, want 0.1", got)
		}
	})
	t.Run("zeros have no spread", func(t *testing.T) {
		if got := spread([]float64{0, 0, 0}); got != 0 {
			t.Errorf("spread = %v, want 0", got)
		}
	})
}

func TestRatioOf(t *testing.T) {
	t.Run("a slow round of both series does not change the ratio", func(t *testing.T) {
		a := Series{Rounds: [][]float64{{20, 20, 20}, {200, 200, 200}, {2, 2, 2}}}
		b := Series{Rounds: [][]float64{{10, 10, 10}, {100, 100, 100}, {1, 1, 1}}}
		if got := ratioOf(a, &b); got != (Ratio{Value: 2, Noise: 0}) {
			t.Errorf("ratio = %+v, want 2 without noise", got)
		}
	})
	t.Run("a round counts by its median", func(t *testing.T) {
		a := Series{Rounds: [][]float64{{3, 3, 999}}}
		b := Series{Rounds: [][]float64{{1, 1, 1}}}
		if got := ratioOf(a, &b).Value; got != 3 {
			t.Errorf("ratio = %v, want 3", got)
		}
	})
	t.Run("without a second series the value itself counts", func(t *testing.T) {
		if got := ratioOf(Series{Rounds: [][]float64{{1}, {2}, {3}}}, nil).Value; got != 2 {
			t.Errorf("value = %v, want 2", got)
		}
	})
}
