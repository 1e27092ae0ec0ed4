//go:build unix

package proc

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/program"
)

// BenchmarkRunAgainstBare compares Run with a bare spawn with the same pipes. The goal is at most
// 1.1 times its cost. The two are measured in turn, so that a busy machine slows both.
func BenchmarkRunAgainstBare(b *testing.B) {
	payload := bytes.Repeat([]byte("x"), 300)
	g := NewGroup(nil)
	defer g.Close()
	ours, bare := func() { runTrue(b, g, payload) }, func() { bareTrue(b, payload) }
	ours() // the guardian starts with the first process
	bare()
	var tOurs, tBare []time.Duration
	for b.Loop() {
		tBare = append(tBare, timed(bare))
		tOurs = append(tOurs, timed(ours))
	}
	o, p := median(tOurs), median(tBare)
	b.ReportMetric(float64(o.Microseconds()), "µs/run")
	b.ReportMetric(float64(p.Microseconds()), "µs/bare")
	b.ReportMetric(float64(o)/float64(p), "ratio")
	b.ReportMetric(0, "ns/op")
}

func BenchmarkRun(b *testing.B) {
	payload := bytes.Repeat([]byte("x"), 300)
	g := NewGroup(nil)
	defer g.Close()
	b.ReportAllocs()
	for b.Loop() {
		runTrue(b, g, payload)
	}
}

func BenchmarkBare(b *testing.B) {
	payload := bytes.Repeat([]byte("x"), 300)
	b.ReportAllocs()
	for b.Loop() {
		bareTrue(b, payload)
	}
}

func runTrue(b *testing.B, g *Group, payload []byte) {
	result, err := g.Run(b.Context(), Spec{Path: "/bin/true"}, Call{Stdin: payload})
	if err != nil || result.Exit.Code != 0 {
		b.Fatal(result, err)
	}
}

func bareTrue(b *testing.B, payload []byte) {
	var stdout, stderr bytes.Buffer
	cmd := exec.Command("/bin/true")
	cmd.Env = []string{}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(payload), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		b.Fatal(err)
	}
}

func timed(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// BenchmarkStandby compares a call to a Python plugin that is already waiting with a call to a cold
// one. The goal is at least five times as fast. "resting" leaves time between the calls for the
// replacement to start; "in a row" does not.
func BenchmarkStandby(b *testing.B) {
	python, err := program.Find(program.Request{Path: "python3", Env: []string{"PATH=/usr/bin:/bin:/usr/local/bin"}})
	if err != nil {
		b.Skip(err)
	}
	script := filepath.Join(b.TempDir(), "plug.py")
	writeFile(b, script, "import sys, json\njson.dump(json.load(sys.stdin), sys.stdout)\n", 0o644)
	s := Spec{Path: python.Path, Args: []string{script}}
	payload := Call{Stdin: []byte(`{"kind":"sink"}`)}
	g := NewGroup(nil)
	defer g.Close()
	check := func(result *Result, err error) {
		if err != nil || string(result.Stdout) != `{"kind": "sink"}` {
			b.Fatalf("%+v, %v", result, err)
		}
	}
	b.Run("cold", func(b *testing.B) {
		for b.Loop() {
			check(g.Run(b.Context(), s, payload))
		}
	})
	b.Run("in a row", func(b *testing.B) {
		standby := g.Standby(s, 1)
		defer standby.Close()
		for b.Loop() {
			check(standby.Run(b.Context(), payload))
		}
	})
	b.Run("resting", func(b *testing.B) {
		standby := g.Standby(s, 1)
		defer standby.Close()
		var times []time.Duration
		for b.Loop() {
			time.Sleep(150 * time.Millisecond)
			times = append(times, timed(func() { check(standby.Run(b.Context(), payload)) }))
		}
		b.ReportMetric(float64(median(times).Nanoseconds()), "ns/op")
	})
}
