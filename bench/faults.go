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

// The section "faults" measures how a misbehaving plugin slows another plugin of the same host.
// Each host has two plugins, an echo and a culprit. The hosts take turns. In its turn, the hook of
// a host's echo is called again and again. In one host the culprit does nothing; in each other host
// a tool of the culprit misbehaves until the turn ends. All of them share the machine's processors:
// if a flood keeps two cores busy, any host's echo must wait for a core. So there is no bar, only
// figures: the median, and the p99 of each round, as multiples of the median of an echo alone.

// faultPrefix starts the file name of a plugin that misbehaves; the rest says how.
const faultPrefix = scaffoldPrefix + "fault-"

// nameAlone is the series of an echo whose neighbour does nothing.
const nameAlone = "alone"

// misdeeds lists what a culprit can do in one call of its tool: its name, and its title in the
// tables.
var misdeeds = []struct {
	name, title string
	do          func(w io.Writer) error // one call; it is repeated until the turn is over
}{
	{"stderr", "beside a flood on stderr", func(io.Writer) error { return pourTo(os.Stderr, strings.Repeat("e", 99)+"\n", 4<<20) }},
	{"notify", "beside a flood of notifications", func(w io.Writer) error {
		return pourTo(w, `{"jsonrpc":"2.0","method":"fault.event","params":{"n":1}}`+"\n", 4<<20)
	}},
	{"line", "beside 100 MB without a newline", func(w io.Writer) error { return pourTo(w, "x", 100<<20) }},
	{"crash", "beside crash after crash", func(io.Writer) error { os.Exit(7); return nil }},
	{"fork", "beside a fork bomb, 200 processes at a time", func(io.Writer) error { return forkBomb(200) }},
}

// pourTo writes text repeatedly, about size bytes in all.
func pourTo(w io.Writer, text string, size int) error {
	chunk := []byte(strings.Repeat(text, max(1, (64<<10)/len(text))))
	for n := 0; n < size; n += len(chunk) {
		if _, err := w.Write(chunk); err != nil {
			return err
		}
	}
	return nil
}

// forkBomb runs n processes at once, and waits for them.
func forkBomb(n int) error {
	var all sync.WaitGroup
	for range n {
		all.Go(func() { _ = exec.Command("true").Run() }) // its exit code does not matter
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
			fmt.Println() // ends an unfinished line
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

// culprit returns the misdeed of the culprit's program. If the culprit is never called, any will
// do.
func (n *neighbourhood) culprit() string {
	if n.misdeed == "" {
		return misdeeds[0].name
	}
	return n.misdeed
}

// turn makes calls to the echo while the culprit misbehaves.
func (n *neighbourhood) turn(payload []byte, calls int) turn {
	quiet := timed(n, payload, warmUp, calls)
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

// misbehave calls the culprit's tool until enough ends. It lets the last call finish, so that no
// misdeed continues into the turn of another contestant. It expects errors, and returns only the
// one that says that the tool does not exist. The host restarts a crashed culprit after a pause
// that grows with each crash.
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
	echo := fire{kind: handedBack}
	neighbourhoods := []Contestant{&neighbourhood{fire: echo, title: nameAlone}}
	for _, m := range misdeeds {
		neighbourhoods = append(neighbourhoods, &neighbourhood{fire: echo, misdeed: m.name, title: m.title})
	}
	payload := payloadOf(smallCall)
	all, err := each(ctx, e.of(20), neighbourhoods, func(c Contestant) turn { return c.(*neighbourhood).turn(payload, 2000) })
	return append(all, worst(all)...), err
}

// worst returns the same series with the p99 of each round instead of its samples.
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
