//go:build unix

package plugtest

import (
	"bufio"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
)

// NamedPipe makes a named pipe. When the process that holds it open is gone, for whatever reason,
// its reader sees the end of the pipe.
func NamedPipe(t testing.TB, path string) {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Listen reads what a process writes into a named pipe until the process is gone, and returns the
// words. It calls up after the first line.
func Listen(t testing.TB, pipe string, up func()) string {
	t.Helper()
	f, err := os.Open(pipe) // waits for a writer
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in := bufio.NewReader(f)
	first, err := in.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	up()
	rest, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(first+string(rest)), " ")
}
