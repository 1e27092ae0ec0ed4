package engine

import (
	"context"
	"log/slog"
	"os"
	"testing"
	"time"
)

func TestZZFull(t *testing.T) {
	dir := os.Getenv("FULL")
	if dir == "" { t.Skip() }
	e := open(t, Options{Dir: dir + "/e", Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	s := openStream(t, e, "s")
	var acked int
	for i := range 200 {
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		_, err := s.Append(ctx, Append{Topic: "t", Data: make([]byte, 100_000)})
		cancel()
		if err != nil { t.Log(i, err); break }
		acked++
	}
	t.Log(acked, e.Status())
	// space comes back
	go func() { time.Sleep(2*time.Second); os.Remove(dir + "/ballast") }()
	t0 := time.Now()
	_, err := s.Append(t.Context(), Append{Topic: "t", Data: make([]byte, 100_000)})
	t.Log(err, time.Since(t0), e.Status())
	r, err := s.Read(t.Context(), "", 0, 0)
	t.Log(len(r), err)
}
