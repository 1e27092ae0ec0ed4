package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// The section "faults" asks what a plugin's neighbour notices of its misbehaviour. One host has two
// plugins, an echo and a culprit. The echo's hook is fired, call after call, first while the
// culprit does nothing, then while a tool of the culprit's misbehaves for as long as the turn
// lasts. All of them share the machine's processors: where a flood keeps two cores busy, an echo
// has to wait for its turn in every host. So there is no bar, only figures, as multiples of the
// median of an echo alone: of the median, and of each round's p99.

// faultPrefix starts the file name of a plugin that misbehaves; the rest says how.
const faultPrefix = scaffoldPrefix + "fault-"

// nameAlone is the series of an echo whose neighbour does nothing.
const nameAlone = "alone"

// misdeeds are what a culprit can do for one call of its tool, by name, and what the tables call
// it.
var misdeeds = []struct {
	name, title string
	do          func(w io.Writer) error // once; it is done again until the turn is over
}{
	{"stderr", "beside a flood on stderr", func(io.Writer) error { return pourTo(os.Stderr, strings.Repeat("e", 99)+"\n", 4<<20) }},
	{"notify", "beside a flood of notifications", func(w io.Writer) error {
		return pourTo(w, `{"jsonrpc":"2.0","method":"fault.event","params":{"n":1}}`+"\n", 4<<20)
	}},
	{"line", "beside 100 MB without a newline", func(w io.Writer) error { return pourTo(w, "x", 100<<20) }},
	{"crash", "beside crash after crash", func(io.Writer) error { os.Exit(7); return nil }},
	{"fork", "beside a fork bomb, 200 processes at a time", func(io.Writer) error { return forkBomb(200) }},
}

// pourTo writes one text over and over.
func pourTo(w io.Writer, text string, size int) error {
	chunk := []byte(strings.Repeat(text, max(1, (64<<10)/len(text))))
	for n := 0; n < size; n += len(chunk) {
		if _, err := w.Write(chunk); err != nil {
			return err
		}
	}
	return nil
}

// forkBomb has so many processes at once, and waits for them.
func forkBomb(n int) error {
	var all sync.WaitGroup
	for range n {
		all.Go(func() { _ = exec.Command("true").Run() }) // how it ends does not matter
	}
	all.Wait()
	return nil
}

// faultChild is a scaffold plugin whose one tool misbehaves as its file's name says.
func faultChild() error {
	name := strings.TrimPrefix(strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe"), faultPrefix)
	for _, m := range misdeeds {
		if m.name == name {
			return serveMisdeed(m.do)
		}
	}
	return fmt.Errorf("no misdeed %q", name)
}

func serveMisdeed(do func(io.Writer) error) error {
	in := json.NewDecoder(os.Stdin)
	for {
		var request struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if err := in.Decode(&request); err != nil {
			return nil // the host is gone
		}
		result := `{}`
		switch request.Method {
		case "initialize":
			result = `{"name":"culprit","tools":[{"name":"misbehave"}]}`
		case "tool/execute":
			if err := do(os.Stdout); err != nil {
				return err
			}
			fmt.Println() // ends what has no end yet
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", request.ID, result)
	}
}

// A neighbourhood is a host with an echo and a culprit.
type neighbourhood struct {
	fire
	misdeed string // "": the culprit does nothing
	title   string
}

func (n *neighbourhood) Name() string { return n.title }

func (n *neighbourhood) Open(ctx context.Context) (err error) {
	if n.dir, err = os.MkdirTemp("", "bench-faults-"); err != nil {
		return err
	}
	home := filepath.Join(n.dir, "scaffold")
	if err := scaffoldHome(home, 1); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := linkOrCopy(self, filepath.Join(home, "plugins", faultPrefix+n.culprit())); err != nil {
		return err
	}
	n.host, err = openHost(ctx, n.dir, 2)
	return err
}

// culprit is the misdeed of the plugin that is there; where it does nothing, any will do.
func (n *neighbourhood) culprit() string {
	if n.misdeed == "" {
		return misdeeds[0].name
	}
	return n.misdeed
}

// turn makes calls to the echo while the culprit is at it.
func (n *neighbourhood) turn(payload []byte, calls int) turn {
	quiet := timed(n, payload, settle, calls)
	if n.misdeed == "" {
		return quiet
	}
	return func(ctx context.Context) ([]float64, error) {
		enough, stop := context.WithCancel(ctx)
		over := make(chan error, 1)
		go func() { over <- n.misbehave(ctx, enough) }()
		samples, err := quiet(ctx)
		stop()
		return samples, errors.Join(err, <-over)
	}
}

// misbehave calls the culprit's tool again and again. The last call is not cut short, so that
// nothing of it falls into another's turn. Its errors are the point, but for a tool that is not
// there. A culprit that has crashed is back after the host's own pause, which grows with each
// crash.
func (n *neighbourhood) misbehave(ctx, enough context.Context) error {
	pause := time.NewTicker(time.Millisecond)
	defer pause.Stop()
	for enough.Err() == nil {
		_, err := n.host.CallTool(ctx, "plugin_culprit_misbehave", nil)
		if errors.Is(err, pluginhost.ErrNotFound) {
			return err
		}
		<-pause.C
	}
	return nil
}

// measureFaults makes 20 × 2,000 = 40,000 calls of an echo in each neighbourhood.
func measureFaults(ctx context.Context, e effort) ([]Series, error) {
	neighbourhoods := []Contestant{&neighbourhood{title: nameAlone}}
	for _, m := range misdeeds {
		neighbourhoods = append(neighbourhoods, &neighbourhood{misdeed: m.name, title: m.title})
	}
	payload := payloadOf(smallCall)
	all, err := each(ctx, e.of(20), neighbourhoods, func(c Contestant) turn { return c.(*neighbourhood).turn(payload, 2000) })
	return append(all, worst(all)...), err
}

// worst are the same series, each round as its p99.
func worst(all []Series) []Series {
	var out []Series
	for _, s := range all {
		w := Series{Name: s.Name + ", p99"}
		for _, round := range s.Rounds {
			w.Rounds = append(w.Rounds, []float64{percentile(round, 99)})
		}
		out = append(out, w)
	}
	return out
}
