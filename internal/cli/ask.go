package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ask asks a question on the terminal and returns the answer. It reads no further than the end of
// that line.
func (a *app) ask(ctx context.Context, question string) (string, error) {
	a.tellf("%s", question)
	line, err := interruptible(ctx, func() (string, error) { return readLine(a.In) })
	if err != nil {
		fmt.Fprintln(a.Err)
		return "", &problem{kind: kindInterrupted, err: errors.New("no answer; nothing was done")}
	}
	return strings.TrimSpace(line), nil
}

// readLine reads a line of at most 4,096 bytes, one byte at a time.
func readLine(r io.Reader) (string, error) {
	var line []byte
	for b := make([]byte, 1); len(line) < 4096; {
		n, err := r.Read(b)
		if n == 1 && b[0] == '\n' {
			return string(line), nil
		}
		if err != nil {
			return "", err
		}
		line = append(line, b[:n]...)
	}
	return string(line), nil
}

// confirm asks a question. An empty answer means yes.
func (a *app) confirm(ctx context.Context, question string) (bool, error) {
	answer, err := a.ask(ctx, question+" [Y/n] ")
	return err == nil && (answer == "" || isYes(answer)), err
}

// confirmIrreversible asks before an action that cannot be undone. An empty answer means no.
// Without a terminal, yes must be set. The last line of question asks; lines before it show what it
// is about.
func (a *app) confirmIrreversible(ctx context.Context, question string, yes bool) error {
	if yes {
		return nil
	}
	if !a.InTTY {
		return usage("add --yes to answer yes", "there is no terminal to ask on: %s", question[strings.LastIndexByte(question, '\n')+1:])
	}
	answer, err := a.ask(ctx, question+" [y/N] ")
	if err != nil {
		return err
	}
	if !isYes(answer) {
		return &problem{kind: kindRefused, err: errors.New("nothing was done")}
	}
	return nil
}

func isYes(answer string) bool {
	w := strings.ToLower(answer)
	return w == "y" || w == "yes"
}
