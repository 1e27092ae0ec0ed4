package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/render"
	"github.com/patchbay-dev/patchbay/internal/wire"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// runFireEvents sends many events through the same plugin processes.
func (a *app) runFireEvents(ctx context.Context, opts *fireOptions) error {
	in := a.In
	if opts.events != "-" {
		file, err := interruptible(ctx, func() (*os.File, error) { return os.Open(a.path(opts.events)) })
		if err != nil {
			return usage("name a file of JSON lines, or - for stdin", "--events: %w", err)
		}
		defer file.Close()
		in = file
	}
	return a.withHost(ctx, needHooks, func(host *pluginhost.Host) error {
		return a.fireEvents(ctx, host, in, opts.trace)
	})
}

// fireEvents writes one line for each line that it reads, in order, as soon as the event is done.
// The answer to a bad line is an error, and the events after it are still fired.
func (a *app) fireEvents(ctx context.Context, host *pluginhost.Host, in io.Reader, trace bool) error {
	lines := readLines(ctx, in)
	failed := 0
	for number := 1; ; number++ {
		line, err := next(ctx, lines)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if len(bytes.TrimSpace(line.text)) == 0 && line.err == nil {
			continue
		}
		ok, err := a.fireLine(ctx, host, line, number, trace)
		if err != nil {
			return err
		}
		if !ok {
			failed++
		}
	}
	if failed > 0 {
		return alreadyPrinted(kindFailed, "the line of each event has its error", "%s had an error", render.Count(failed, "event"))
	}
	return nil
}

// fireLine fires the event of one line and prints the result. ok is false if the event had an
// error. err is not nil if no more events can be fired.
func (a *app) fireLine(ctx context.Context, host *pluginhost.Host, line inputLine, number int, trace bool) (ok bool, err error) {
	point, data, err := parseEvent(line, number)
	var out *hook.Outcome
	if err == nil {
		a.warnOfPayload(point, data, "line", number)
		out, err = host.Fire(ctx, point, data)
	}
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	raw, encodeErr := eventResult(ctx, point, out, err, trace)
	if encodeErr != nil {
		return false, encodeErr
	}
	_, writeErr := a.out.Write(append(raw, '\n'))
	return err == nil, writeErr
}

// eventResult returns the line of one event: its outcome, and its error if it has one.
func eventResult(ctx context.Context, point hook.Point, out *hook.Outcome, err error, trace bool) ([]byte, error) {
	var result any = map[string]hook.Point{"point": point}
	switch {
	case out != nil && trace:
		result = out.Trace()
	case out != nil:
		result = out
	}
	raw, encodeErr := encodeJSON(result)
	if encodeErr != nil || err == nil {
		return raw, encodeErr
	}
	object, parseErr := rawjson.Parse(raw)
	if parseErr != nil {
		return nil, fmt.Errorf("result: %w", parseErr)
	}
	k, _ := classify(ctx, err)
	text, encodeErr := encodeJSON(newErrorJSON(k, err))
	return object.With(rawjson.Field{Name: "error", Value: text}).JSON(), encodeErr
}

// parseEvent reads {"point", "data"}. data is optional.
func parseEvent(line inputLine, number int) (hook.Point, json.RawMessage, error) {
	if line.err != nil {
		return "", nil, usage("write each event on one line, of at most 64 MiB", "line %d: %w", number, line.err)
	}
	object, err := rawjson.Parse(line.text)
	if err != nil {
		return "", nil, usage(`write {"point": …, "data": {…}} on one line`, "line %d: %w", number, err)
	}
	name, ok := object.String("point")
	if !ok {
		return "", nil, usage(`write {"point": …, "data": {…}}`, "line %d: no point", number)
	}
	point := hook.Point(name)
	if _, ok := point.Spec(); !ok {
		return point, nil, withFix(fmt.Errorf("line %d: %w %q", number, hook.ErrUnknownPoint, name),
			suggestName(name, pointNames(), "`patchbay fire --list` lists the points"))
	}
	for _, f := range object {
		if f.Name != "point" && f.Name != "data" {
			return point, nil, usage(`write {"point": …, "data": {…}}, with the payload as data`, "line %d: an event has no field %.80q", number, f.Name)
		}
	}
	data := object.Get("data")
	if string(data) == "null" {
		data = nil
	}
	if _, err := rawjson.Parse(data); data != nil && err != nil {
		return point, nil, usage(`write {"point": …, "data": {…}}`, "line %d: data is not a JSON object: %.80q", number, data)
	}
	return point, data, nil
}

// An inputLine is a line, or the error of reading it.
type inputLine struct {
	text []byte
	err  error
}

// next waits for the next line, for the end of the input, or for ctx.
func next(ctx context.Context, lines <-chan inputLine) (inputLine, error) {
	select {
	case line, ok := <-lines:
		if !ok {
			return inputLine{}, io.EOF
		}
		return line, nil
	case <-ctx.Done():
		return inputLine{}, context.Cause(ctx)
	}
}

// readLines reads on its own goroutine, which owns the reader. A read from a terminal or a pipe
// cannot be interrupted, but waiting for it can. The goroutine ends with its input, or after ctx
// has ended and its read returns.
func readLines(ctx context.Context, in io.Reader) <-chan inputLine {
	lines := make(chan inputLine)
	go func() {
		defer close(lines)
		r := wire.NewReader(in, maxInput)
		for {
			line := inputLine{}
			line.text, line.err = r.ReadLine()
			last := line.err != nil && !errors.Is(line.err, wire.ErrTooLarge)
			if errors.Is(line.err, io.EOF) { // the last line has no line end
				line.err = nil
			}
			select {
			case lines <- line: // the receiver skips empty lines
			case <-ctx.Done():
				return
			}
			if last {
				return
			}
		}
	}()
	return lines
}
