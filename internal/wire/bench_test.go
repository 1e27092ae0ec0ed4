package wire

import (
	"bytes"
	"context"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// Each benchmark alternates its calls with a baseline, the least that a call can cost: the same
// bytes over a bare pipe and back. It reports the ratio of the medians as x-bare, because a busy
// machine slows both alike. For one core: taskset -c 0 go test -bench …
const turn = 20 // calls of one kind in a row

func compare(b *testing.B, size int, call func()) {
	bare := bareEcho(b, size)
	for range turn { // warm up both
		bare()
		call()
	}
	var floors, calls []time.Duration
	b.SetBytes(int64(2 * size))
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		floors = append(floors, timed(bare))
		b.StartTimer()
		calls = append(calls, timed(call))
	}
	b.ReportMetric(median(calls), "µs/call")
	b.ReportMetric(median(floors), "µs/bare")
	b.ReportMetric(median(calls)/median(floors), "x-bare")
}

func timed(f func()) time.Duration {
	start := time.Now()
	for range turn {
		f()
	}
	return time.Since(start)
}

// median returns the median of the turns, in microseconds per call.
func median(turns []time.Duration) float64 {
	slices.Sort(turns)
	return float64(turns[len(turns)/2].Nanoseconds()) / turn / 1e3
}

// bareEcho sends size bytes to a child that sends them back, without any protocol.
func bareEcho(b *testing.B, size int) func() {
	c := startChild(b, "bare")
	growPipe(c.r)
	growPipe(c.w)
	out := bytes.Repeat([]byte{'x'}, size)
	in := make([]byte, size)
	return func() {
		if _, err := c.w.Write(out); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(c.r, in); err != nil {
			b.Fatal(err)
		}
	}
}

// paramsOf returns params that make a request of about size bytes.
func paramsOf(size int) []byte {
	return []byte(`{"message":"` + strings.Repeat("m", size-80) + `"}`)
}

func benchSerial(b *testing.B, size int) {
	c := startChild(b, "lent")
	s := NewSerial(c.r, c.w, Options{})
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	params := paramsOf(size)
	compare(b, size, func() {
		if _, err := s.Call(ctx, "hook/post_user_input", params); err != nil {
			b.Fatal(err)
		}
	})
}

func BenchmarkSerialCall300(b *testing.B)   { benchSerial(b, 300) }
func BenchmarkSerialCall64KiB(b *testing.B) { benchSerial(b, 64<<10) }

func benchPeer(b *testing.B, size int) {
	c := startChild(b, "lent")
	p := NewPeer(c.r, c.w, PeerOptions{})
	defer p.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	params := paramsOf(size)
	compare(b, size, func() {
		if _, err := p.Call(ctx, "tool/call", params); err != nil {
			b.Fatal(err)
		}
	})
}

func BenchmarkPeerCall300(b *testing.B)   { benchPeer(b, 300) }
func BenchmarkPeerCall64KiB(b *testing.B) { benchPeer(b, 64<<10) }

// BenchmarkPeer64InFlight: one operation is one call; 64 goroutines make them.
func BenchmarkPeer64InFlight(b *testing.B) {
	c := startChild(b, "lent")
	p := NewPeer(c.r, c.w, PeerOptions{})
	defer p.Close()
	params := paramsOf(300)
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	b.SetParallelism(64 / runtime.GOMAXPROCS(0))
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := p.Call(ctx, "tool/call", params); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
