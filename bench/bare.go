package main

import (
	"bufio"
	"context"
	"os"
)

// bare writes a line and reads a line, without any protocol. Nothing that talks to a plugin process
// over pipes can be faster, so the tables show the other contestants as multiples of it.
type bare struct {
	child *child
	line  []byte        // the payload with its newline
	lines *bufio.Reader // over the child's stdout
}

func (b *bare) Name() string { return nameBare }

func (b *bare) Open(ctx context.Context) error {
	child, err := startChild(ctx, "bare")
	if err != nil {
		return err
	}
	b.child = child
	b.lines = bufio.NewReaderSize(child.out, 2*largeCall) // a whole line fits
	return nil
}

func (b *bare) Call(_ context.Context, payload []byte) error {
	b.line = append(append(b.line[:0], payload...), '\n')
	if _, err := b.child.in.Write(b.line); err != nil {
		return err
	}
	reply, err := b.lines.ReadSlice('\n')
	if err != nil {
		return err
	}
	return checkEcho(b.line, reply)
}

func (b *bare) Close() error { return b.child.Close() }

// bareChild echoes lines.
func bareChild() error {
	lines := bufio.NewReaderSize(os.Stdin, 2*largeCall)
	for {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			return nil // stdin was closed
		}
		if _, err := os.Stdout.Write(line); err != nil {
			return err
		}
	}
}
