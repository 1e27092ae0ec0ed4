package cli

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// streams are the three files a program in the foreground is given.
type streams struct{ in, out, err stream }

// A stream is one of them: the command's own file, or the program's end of a pipe that a goroutine
// copies.
type stream struct {
	file     *os.File
	captured *bytes.Buffer // what came through the pipe, where it is captured
	copied   chan error    // nil where there is no pipe
}

// streams gives a program the command's own streams; where capture is set, pipes in the place of
// stdout and stderr.
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

// inStream is stdin: a file as it is; anything else is read as the program asks for it.
func inStream(r io.Reader) (stream, error) {
	if f := isFile(r); f != nil {
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
		_, _ = io.Copy(ours, r) // a program that does not read it all has its reasons
		ours.Close()
	}()
	return stream{file: child}, nil
}

// outStream is stdout or stderr.
func outStream(w io.Writer, capture bool) (stream, error) {
	if f := isFile(w); f != nil && !capture {
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

// close closes the program's ends of pipes and waits until all was copied.
func (s *streams) close() error {
	var errs []error
	for _, x := range []*stream{&s.out, &s.err} {
		if x.copied != nil {
			errs = append(errs, x.file.Close(), <-x.copied)
		}
	}
	return errors.Join(errs...)
}

// signals are what is passed on to a program in the foreground. What a terminal sends on a key, it
// sends to the program itself, and we only see to it that it does not end us: that is for the
// program to decide.
func (a *app) signals() (<-chan os.Signal, func()) {
	pass, ignore := make(chan os.Signal, 16), make(chan os.Signal, 1)
	keys := pass
	if a.InTTY {
		keys = ignore // nobody reads it
	}
	signal.Notify(pass, syscall.SIGTERM, syscall.SIGHUP)
	signal.Notify(keys, os.Interrupt, syscall.SIGQUIT)
	return pass, func() { signal.Stop(pass); signal.Stop(ignore) }
}
