//go:build unix

package proc

import (
	"bytes"
	"os/exec"
	"slices"
	"testing"
	"time"
)

// The bar: a process per call costs at most 1.1 times a bare spawn with the same pipes. The two are measured in turn,
// so that a busy machine slows both.
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
