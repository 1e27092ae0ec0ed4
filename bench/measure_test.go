package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestMain lets the test binary be every contestant's plugin process, as the command is.
func TestMain(m *testing.M) {
	if name := childName(); name != "" {
		exitOn(runChild(name))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestRoundRobin(t *testing.T) {
	var order []string
	noting := func(name string) entrant {
		return entrant{name, func(context.Context) ([]float64, error) {
			order = append(order, name)
			return []float64{float64(len(order))}, nil
		}}
	}
	series, err := roundRobin(t.Context(), 2, []entrant{noting("a"), noting("b"), noting("c")})
	if err != nil {
		t.Fatal(err)
	}
	t.Run("each round begins with another entrant", func(t *testing.T) {
		if got := strings.Join(order, ""); got != "abc"+"bca"+"cab" {
			t.Errorf("order = %s", got)
		}
	})
	t.Run("the first round is warm-up and not measured", func(t *testing.T) {
		if got := series[0].samples(); !slices.Equal(got, []float64{6, 8}) {
			t.Errorf("samples of a = %v, want those of its second and third turn", got)
		}
	})
	t.Run("an error names the entrant and ends the run", func(t *testing.T) {
		boom := errors.New("boom")
		fails := entrant{"bad", func(context.Context) ([]float64, error) { return nil, boom }}
		_, err := roundRobin(t.Context(), 2, []entrant{fails})
		if !errors.Is(err, boom) || !strings.Contains(err.Error(), "bad") {
			t.Errorf("err = %v", err)
		}
	})
}

func TestPayloadIsAnObjectOfExactlyThatSize(t *testing.T) {
	for _, size := range []int{smallCall, largeCall, 88, 89, 90} { // the last sizes end near an escape
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			payload := payloadOf(size)
			var object map[string]string
			if err := json.Unmarshal(payload, &object); err != nil || len(payload) != size {
				t.Errorf("%d bytes, %v: %.100q", len(payload), err, payload)
			}
		})
	}
}

// TestEveryContestantEchoes runs each with its real plugin process, at both sizes, twice.
func TestEveryContestantEchoes(t *testing.T) {
	for _, c := range oneAtATime() {
		t.Run(c.Name(), func(t *testing.T) {
			err := c.Open(t.Context())
			t.Cleanup(func() {
				if err := c.Close(); err != nil {
					t.Error("close:", err)
				}
			})
			if errors.Is(err, errSkip) {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, size := range []int{smallCall, largeCall, smallCall, largeCall} {
				if err := c.Call(t.Context(), payloadOf(size)); err != nil {
					t.Fatalf("%d bytes: %v", size, err)
				}
			}
		})
	}
}

func TestContestantsTakeManyCallsAtOnce(t *testing.T) {
	for _, c := range manyInFlight() {
		t.Run(c.Name(), func(t *testing.T) {
			if err := c.Open(t.Context()); err != nil {
				t.Fatal(err)
			}
			samples, err := throughput(c, payloadOf(smallCall), 16, 5)(t.Context())
			if err != nil || len(samples) != 1 || samples[0] <= 0 {
				t.Errorf("samples = %v, err = %v", samples, err)
			}
			if err := c.Close(); err != nil {
				t.Error("close:", err)
			}
		})
	}
}

func TestChooseSections(t *testing.T) {
	t.Run("no name means all sections except the slow ones", func(t *testing.T) {
		got, err := choose("")
		if err != nil || len(got) != len(allSections())-1 || slices.ContainsFunc(got, section.onlyIfNamed) {
			t.Errorf("%d sections, %v", len(got), err)
		}
	})
	t.Run("a slow section is measured if it is named", func(t *testing.T) {
		if got, err := choose(sectionCold); err != nil || len(got) != 1 {
			t.Errorf("%d sections, %v", len(got), err)
		}
	})
	t.Run("an unknown name is an error that lists the known names", func(t *testing.T) {
		if _, err := choose("call-300,nope"); err == nil || !strings.Contains(err.Error(), sectionAllocs) {
			t.Errorf("err = %v", err)
		}
	})
}
