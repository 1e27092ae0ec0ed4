package cli

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// streams holds the three files of a program in the foreground.
type streams struct{ in, out, err stream }

// A stream is stdin, stdout or stderr of that program: our own file, or the program's end of a pipe
// that a goroutine copies.
type stream struct {
	file     *os.File
	captured *bytes.Buffer // the output of the pipe, if it is captured
	copied   chan error    // receives when the pipe is copied; nil: there is no pipe
}

// streams returns our own streams for a program, or, if capture is set, pipes instead of stdout and
// stderr.
func (a *app) streams(capture bool) (*streams, error) {
	s := new(streams)
	var errs [3]error
	s.in, errs[0] = inStream(a.In)
	s.out, errs[1] = outStream(a.Out, capture)
	s.err, errs[2] = outStream(a.Err, capture)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// inStream returns stdin: a file as it is, or a pipe that is filled from the reader.
func inStream(r io.Reader) (stream, error) {
	if f := asFile(r); f != nil {
		return stream{file: f}, nil
	}
	if r == nil {
		f, err := os.Open(os.DevNull)
		return stream{file: f}, err
	}
	child, ours, err := os.Pipe()
	if err != nil {
		return stream{}, err
	}
	go func() {
		_, _ = io.Copy(ours, r) // a program need not read all of its input
		ours.Close()
	}()
	return stream{file: child}, nil
}

// outStream returns stdout or stderr.
func outStream(w io.Writer, capture bool) (stream, error) {
	if f := asFile(w); f != nil && !capture {
		return stream{file: f}, nil
	}
	ours, child, err := os.Pipe()
	if err != nil {
		return stream{}, err
	}
	s := stream{file: child, copied: make(chan error, 1)}
	if capture {
		s.captured = new(bytes.Buffer)
		w = s.captured
	}
	go func() {
		_, err := io.Copy(w, ours)
		s.copied <- errors.Join(err, ours.Close())
	}()
	return s, nil
}

// close closes the program's ends of pipes and waits until everything is copied.
func (s *streams) close() error {
	var errs []error
	for _, x := range []*stream{&s.out, &s.err} {
		if x.copied != nil {
			errs = append(errs, x.file.Close(), <-x.copied)
		}
	}
	return errors.Join(errs...)
}

// signals returns the signals to pass on to a program in the foreground. A terminal sends the
// signals of its keys to the program itself. Patchbay only catches these signals, so that they do
// not end Patchbay. The program decides what they mean.
func (a *app) signals() (<-chan os.Signal, func()) {
	pass, ignore := make(chan os.Signal, 16), make(chan os.Signal, 1)
	keys := pass
	if a.InTTY {
		keys = ignore // never received from
	}
	signal.Notify(pass, syscall.SIGTERM, syscall.SIGHUP)
	signal.Notify(keys, os.Interrupt, syscall.SIGQUIT)
	return pass, func() { signal.Stop(pass); signal.Stop(ignore) }
}
