package main

import (
	"math"
	"testing"
)

func TestBarStatus(t *testing.T) {
	atMost, atLeast := Bar{Limit: 2}, Bar{Limit: 10, AtLeast: true}
	for _, c := range []struct {
		name  string
		bar   Bar
		ratio Ratio
		want  Status
	}{
		{"below an upper limit is kept", atMost, Ratio{1.9, 0}, Kept},
		{"the limit itself is kept", atMost, Ratio{2, 0}, Kept},
		{"over it by less than the noise is within noise", atMost, Ratio{2.1, 0.1}, WithinNoise},
		{"over it by more than the noise is missed", atMost, Ratio{2.3, 0.1}, Missed},
		{"above a lower limit is kept", atLeast, Ratio{11, 0}, Kept},
		{"under it by less than the noise is within noise", atLeast, Ratio{9.5, 0.1}, WithinNoise},
		{"under it by more than the noise is missed", atLeast, Ratio{8, 0.1}, Missed},
		{"no number keeps no upper limit", atMost, Ratio{math.NaN(), math.NaN()}, Missed},
		{"no number keeps no lower limit", atLeast, Ratio{math.NaN(), math.NaN()}, Missed},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.bar.status(c.ratio); got != c.want {
				t.Errorf("status of %+v = %q, want %q", c.ratio, got, c.want)
			}
		})
	}
}

func TestJudge(t *testing.T) {
	bar := Bar{Of: "a", Over: "b", Limit: 2}
	a := Series{Name: "a", Rounds: [][]float64{{3}}}
	t.Run("divides the one series by the other", func(t *testing.T) {
		j := judge(bar, []Series{{Name: "b", Rounds: [][]float64{{2}}}, a})
		if j.Value != 1.5 || j.Status != Kept {
			t.Errorf("judgement = %v %q, want 1.5 and kept", j.Value, j.Status)
		}
	})
	t.Run("a skipped series leaves the bar unmeasured, with the reason", func(t *testing.T) {
		j := judge(bar, []Series{a, {Name: "b", Skip: "no python3"}})
		if j.Status != NotMeasured || j.Why != "no python3" {
			t.Errorf("judgement = %q (%s)", j.Status, j.Why)
		}
	})
	t.Run("Less is subtracted from both series", func(t *testing.T) {
		j := judge(Bar{Of: "a", Over: "b", Less: "c", Limit: 2}, []Series{a, {Name: "b", Rounds: [][]float64{{5}}}, {Name: "c", Rounds: [][]float64{{1}}}})
		if j.Value != 0.5 || j.Status != Kept {
			t.Errorf("judgement = %v %q, want 0.5 and kept", j.Value, j.Status)
		}
	})
	t.Run("a count is rounded to tenths", func(t *testing.T) {
		j := judge(Bar{Of: "a", Limit: 2}, []Series{{Name: "a", Rounds: [][]float64{{2.004}}}})
		if j.Value != 2 || j.Status != Kept {
			t.Errorf("judgement = %v %q, want 2 and kept", j.Value, j.Status)
		}
	})
}

// TestEveryBarHasItsSection: each bar names a section that exists. Otherwise it would never be
// judged.
func TestEveryBarHasItsSection(t *testing.T) {
	for _, b := range allBars() {
		if _, err := choose(b.Section); err != nil {
			t.Errorf("bar %q: %v", b.What, err)
		}
	}
}
