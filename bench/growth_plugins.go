package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/wire"
)

func nameKaged(n int) string { return fmt.Sprint("each of ", n) }

func namePayload(size int) string { return fmt.Sprintf("%d KiB", size>>10) }

// The sizes of payload that are compared.
const (
	payloadEarly = 64 << 10
	payloadLate  = 256 << 10
)

// serveKaged answers calls by their method until stdin ends. It sets *peer, with which the plugin
// can send requests.
func serveKaged(peer **wire.Peer, methods map[string]func(json.RawMessage) (json.RawMessage, error)) error {
	ended := make(chan struct{})
	*peer = wire.NewPeer(os.Stdin, os.Stdout, wire.PeerOptions{
		OnNotify: func(string, json.RawMessage) {}, // initialized
		OnRequest: func(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
			if method == "shutdown" {
				defer close(ended)
			}
			if answer, ok := methods[method]; ok {
				return answer(params)
			}
			return json.RawMessage(`{"ok":true}`), nil
		},
	})
	<-ended
	time.Sleep(time.Second) // until the answer is sent and the host closes stdin or ends this process
	return nil
}

// measureKaged times events at a point with 1, 16 and 64 plugins, and divides by their number.
func measureKaged(ctx context.Context, e effort) (out []Series, err error) {
	var entrants []entrant
	for _, n := range []int{1, 16, 64} {
		host, closeHost, herr := kagedHost(ctx, n)
		if herr != nil {
			return nil, herr
		}
		defer func() { err = errors.Join(err, closeHost()) }() // the result of measureKaged
		entrants = append(entrants, entrant{nameKaged(n), kagedTurn(host, n)})
		for name, one := range map[string]func() Contestant{
			nameBareEach(n): func() Contestant { return &bare{} },
			namePeerEach(n): func() Contestant { return newWirePeer("peer") },
		} {
			all, closeAll, oerr := openMany(ctx, n, one)
			if oerr != nil {
				return nil, oerr
			}
			defer func() { err = errors.Join(err, closeAll()) }()
			entrants = append(entrants, entrant{name, eachTurn(all)})
		}
	}
	slices.SortStableFunc(entrants, func(a, b entrant) int { return strings.Compare(a.name, b.name) })
	return roundRobin(ctx, e.of(20), entrants)
}

// nameBareEach is the series of as many processes without Patchbay. It shows what their number
// alone costs, by the scheduler and the caches.
func nameBareEach(n int) string { return fmt.Sprint("bare pipe, each of ", n) }

// namePeerEach is the series of as many processes on the wire, without the hub. Both sides read in
// one goroutine and answer in another, as in the kaged dialect.
func namePeerEach(n int) string { return fmt.Sprint("wire alone, each of ", n) }

// peerChild answers every call with its params, in a separate goroutine.
func peerChild() error {
	peer := wire.NewPeer(os.Stdin, os.Stdout, wire.PeerOptions{
		OnRequest: func(_ context.Context, _ string, params json.RawMessage) (json.RawMessage, error) { return params, nil },
	})
	<-peer.Done()
	return nil
}

func openMany(ctx context.Context, n int, one func() Contestant) ([]Contestant, func() error, error) {
	var all []Contestant
	closeAll := func() error {
		var errs []error
		for _, c := range all {
			errs = append(errs, c.Close())
		}
		return errors.Join(errs...)
	}
	for range n {
		c := one()
		if err := c.Open(ctx); err != nil {
			return nil, nil, errors.Join(err, closeAll())
		}
		all = append(all, c)
	}
	return all, closeAll, nil
}

// eachTurn calls each process, one after another.
func eachTurn(all []Contestant) turn {
	payload := payloadOf(smallCall)
	return func(ctx context.Context) ([]float64, error) {
		samples := make([]float64, 20)
		for i := range samples {
			start := time.Now()
			for _, c := range all {
				if err := c.Call(ctx, payload); err != nil {
					return nil, err
				}
			}
			samples[i] = micros(time.Since(start)) / float64(len(all))
		}
		return samples, nil
	}
}

func kagedHost(ctx context.Context, n int) (*pluginhost.Host, func() error, error) {
	dir, err := os.MkdirTemp("", "bench-kaged-")
	if err != nil {
		return nil, nil, err
	}
	if err := kagedHome(dir, n); err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(dir))
	}
	host, err := openHost(ctx, dir, n)
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(dir))
	}
	return host, func() error { return errors.Join(host.Close(), os.RemoveAll(dir)) }, nil
}

// kagedTurn fires events, and checks that every plugin was asked.
func kagedTurn(host *pluginhost.Host, n int) turn {
	payload := json.RawMessage(`{"session_id":"ses_1","working_dir":"/tmp"}`)
	return func(ctx context.Context) ([]float64, error) {
		samples := make([]float64, 20)
		for i := range samples {
			start := time.Now()
			outcome, err := host.Fire(ctx, hook.SessionStart, payload)
			if err != nil {
				return nil, err
			}
			samples[i] = micros(time.Since(start)) / float64(n)
			if len(outcome.Steps) != n {
				return nil, fmt.Errorf("%d plugins were called, wanted %d", len(outcome.Steps), n)
			}
		}
		return samples, nil
	}
}

// A watchedHost is a host with a plugin that sees every reply of the model, and does not change it.
type watchedHost struct {
	dir  string
	host *pluginhost.Host
}

func openWatched(ctx context.Context) (*watchedHost, error) {
	dir, err := os.MkdirTemp("", "bench-watched-")
	if err != nil {
		return nil, err
	}
	if err := scaffoldHome(filepath.Join(dir, "scaffold"), 1); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	host, err := openHost(ctx, dir, 1)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &watchedHost{dir, host}, nil
}

func (w *watchedHost) close() error { return errors.Join(w.host.Close(), os.RemoveAll(w.dir)) }

// fire shows the plugin a payload.
func (w *watchedHost) fire(ctx context.Context, payload json.RawMessage) error {
	outcome, err := w.host.Fire(ctx, hook.ModelReply, payload)
	if err != nil {
		return err
	}
	if len(outcome.Steps) != 1 || len(outcome.Payload) != len(payload) {
		return fmt.Errorf("%d plugins were called, and %d of %d bytes came back", len(outcome.Steps), len(outcome.Payload), len(payload))
	}
	return nil
}

// replyOf returns the payload of a model's reply, of exactly size bytes.
func replyOf(size int) json.RawMessage {
	whole := payloadOf(size + len("message") - len("text"))
	return json.RawMessage(`{"text"` + string(whole[len(`{"message"`):]))
}

func measurePayload(ctx context.Context, e effort) (out []Series, err error) {
	pipe, err := startChild(ctx, "taker")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, pipe.Close()) }()
	var entrants []entrant
	for _, size := range []int{payloadEarly, payloadLate} {
		entrants = append(entrants, entrant{nameTaken(size), inMicros(takerCall(pipe, append(replyOf(size), '\n')))})
	}
	return payloads(ctx, e.of(40), func(w *watchedHost, payload json.RawMessage) turn {
		return inMicros(func(ctx context.Context) error { return w.fire(ctx, payload) })
	}, entrants...)
}

// inMicros returns a turn that makes ten calls and times each, in microseconds.
func inMicros(call func(context.Context) error) turn {
	return func(ctx context.Context) ([]float64, error) {
		samples, err := timedCalls(10, call)(ctx)
		for i := range samples {
			samples[i] *= 1000
		}
		return samples, err
	}
}

// nameTaken is the series of the same bytes on a bare pipe. It shows what their number alone costs.
func nameTaken(size int) string { return "bare pipe, " + namePayload(size) }

// takerCall writes a line, and reads the byte with which takerChild confirms it.
func takerCall(pipe *child, line []byte) func(context.Context) error {
	return func(context.Context) error {
		if _, err := pipe.in.Write(line); err != nil {
			return err
		}
		_, err := io.ReadFull(pipe.out, make([]byte, 1))
		return err
	}
}

// takerChild reads lines, and answers each with a byte.
func takerChild() error {
	lines := bufio.NewReaderSize(os.Stdin, 2*payloadLate)
	for {
		if _, err := lines.ReadSlice('\n'); err != nil {
			return nil // stdin was closed
		}
		if _, err := os.Stdout.Write([]byte{'k'}); err != nil {
			return err
		}
	}
}

func measurePayloadAllocs(ctx context.Context, e effort) ([]Series, error) {
	return payloads(ctx, e.of(10), func(w *watchedHost, payload json.RawMessage) turn {
		return func(ctx context.Context) ([]float64, error) {
			const calls = 20
			if err := w.fire(ctx, payload); err != nil { // fills the buffers that the collector emptied
				return nil, err
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for range calls {
				if err := w.fire(ctx, payload); err != nil {
					return nil, err
				}
			}
			runtime.ReadMemStats(&after)
			return []float64{float64(after.TotalAlloc-before.TotalAlloc) / calls / float64(len(payload))}, nil
		}
	})
}

// payloads measures both sizes at one host, in turns with the other entrants.
func payloads(ctx context.Context, rounds int, turnOf func(*watchedHost, json.RawMessage) turn, entrants ...entrant) ([]Series, error) {
	w, err := openWatched(ctx)
	if err != nil {
		return nil, err
	}
	for _, size := range []int{payloadEarly, payloadLate} {
		entrants = append(entrants, entrant{namePayload(size), turnOf(w, replyOf(size))})
	}
	series, err := roundRobin(ctx, rounds, entrants)
	return series, errors.Join(err, w.close())
}
