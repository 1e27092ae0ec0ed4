package job

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/pause"
)

const (
	flushEvery   = 250 * time.Millisecond // lines are collected for this long before they are written
	flushBytes   = 32 << 10               // or until they have this many bytes
	maxOutput    = 64 << 20               // bytes that are stored for one attempt
	writeTimeout = 10 * time.Second       // of one write
	lineQueue    = 1024                   // lines that may wait to be written; a program that prints faster is slowed down
)

// An outputWriter writes the output of one attempt into the store, several lines at a time.
type outputWriter struct {
	runner  *Runner
	run     *Run
	attempt int
	lines   chan Line     // to the goroutine in write
	done    chan struct{} // closed when that goroutine has written everything
}

// writeOutput starts an outputWriter for the current attempt of a run.
func (s *Store) writeOutput(p *parts, run *Run, r *Runner) *outputWriter {
	k := &outputWriter{runner: r, run: run, attempt: len(run.Attempts), lines: make(chan Line, lineQueue), done: make(chan struct{})}
	go k.write(p)
	return k
}

// line queues a line of output to be written.
func (k *outputWriter) line(l Line) {
	l.Attempt, l.Time = k.attempt, k.runner.clock.Now().UTC()
	if k.runner.Watch != nil {
		k.runner.Watch(k.run.ID, l)
	}
	k.lines <- l
}

// close waits until all lines are written.
func (k *outputWriter) close() {
	close(k.lines)
	<-k.done
}

// write collects lines and appends them to the store, until lines is closed.
func (k *outputWriter) write(p *parts) {
	defer close(k.done)
	batch := outputBatch{most: maxOutput}
	flush := func() {
		if data := batch.take(); len(data) > 0 {
			k.append(p, data)
		}
	}
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for {
		select {
		case l, ok := <-k.lines:
			if !ok {
				flush()
				if batch.lost > 0 {
					k.append(p, encodeLine(Line{Attempt: k.attempt, Time: time.Now().UTC(), Stream: notes, Text: fmt.Sprintf("%d bytes of output were not kept", batch.lost)}))
				}
				return
			}
			batch.add(l)
			if len(batch.data) >= flushBytes {
				flush()
			}
		case <-tick.C:
			flush()
		}
	}
}

// An outputBatch collects lines until they are written, and counts what was printed after the limit
// of the attempt was reached.
type outputBatch struct {
	most    int    // bytes that are stored of all batches
	data    []byte // the lines as they are stored
	printed int    // bytes that the program printed, of the lines in data
	stored  int    // bytes of all batches so far in their stored form, also of those that were not stored
	lost    int    // bytes that the program printed and that are not stored
}

func (b *outputBatch) add(l Line) {
	b.data = append(b.data, encodeLine(l)...)
	b.printed += len(l.Text) + 1 // with the line end
}

// take ends the batch and returns the bytes to store, or nil if they exceed the limit. The caller
// uses them before the next call of add.
func (b *outputBatch) take() []byte {
	data := b.data
	if b.stored += len(data); b.stored > b.most {
		b.lost += b.printed
		data = nil
	}
	b.data, b.printed = b.data[:0], 0
	return data
}

// outputTopic returns the topic of a run's output, which all runs of its schedule share.
func outputTopic(r *Run) string { return stateKey(r.Agent, r.Schedule) }

// append writes lines together with the id of the run. If that fails, append logs the error and the
// run goes on.
func (k *outputWriter) append(p *parts, lines []byte) {
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	data := slices.Concat([]byte(k.run.ID+"\n"), lines)
	if _, err := p.output.Append(ctx, engine.Append{Topic: outputTopic(k.run), Data: data}); err != nil {
		k.runner.Logger.Warn("cannot store the output of a run", "run", k.run.ID, "err", err)
	}
}

func encodeLine(l Line) []byte {
	data, err := json.Marshal(l)
	if err != nil {
		return nil // not possible: a Line has only strings and numbers
	}
	return append(data, '\n')
}

// Output calls f with the lines that a run has printed, the oldest first.
func (s *Store) Output(ctx context.Context, run string, f func(Line) error) error {
	p, err := s.parts(ctx)
	if err != nil {
		return err
	}
	r, err := p.run(ctx, run)
	if err != nil {
		return err
	}
	_, err = p.lines(ctx, &r, r.LogAfter, f)
	return err
}

// outputPage is how many records of lines are read at once: about 2 MB, or more if lines are long.
const outputPage = 64

// lines calls f with the lines of a run after a sequence number. It returns the sequence number of
// the last record that it read. The runs of a schedule follow one another and their ids sort by
// time, so lines stops at the first record of a later run.
func (p *parts) lines(ctx context.Context, r *Run, after uint64, f func(Line) error) (uint64, error) {
	for {
		records, err := p.output.Read(ctx, outputTopic(r), after, outputPage)
		if err != nil {
			return after, err
		}
		for _, record := range records {
			id, lines, _ := bytes.Cut(record.Data, []byte{'\n'})
			if string(id) > r.ID {
				return after, nil
			}
			after = record.Sequence
			if string(id) != r.ID {
				continue // from an earlier run whose process was wrongly counted as dead
			}
			if err := decodeLines(lines, f); err != nil {
				return after, err
			}
		}
		if len(records) < outputPage {
			return after, nil
		}
	}
}

// decodeLines calls f with each line of a record.
func decodeLines(data []byte, f func(Line) error) error {
	for _, text := range bytes.Split(bytes.TrimSpace(data), []byte{'\n'}) {
		var l Line
		if err := json.Unmarshal(text, &l); err != nil {
			return fmt.Errorf("stored output: %w", err)
		}
		if err := f(l); err != nil {
			return err
		}
	}
	return nil
}

// followEvery is how often Follow looks for new lines.
const followEvery = flushEvery

// Follow calls f with the lines of a run: first with those that are stored, then with each new one,
// until the run is over.
func (s *Store) Follow(ctx context.Context, run string, f func(Line) error) error {
	p, err := s.parts(ctx)
	if err != nil {
		return err
	}
	after := uint64(0)
	for {
		r, err := p.run(ctx, run) // before the lines are read: a run that is over prints no more
		if err != nil {
			return err
		}
		if after, err = p.lines(ctx, &r, max(after, r.LogAfter), f); err != nil {
			return err
		}
		if r.Status.Over() {
			return nil
		}
		pause.For(ctx, followEvery)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}
