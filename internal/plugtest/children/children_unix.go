//go:build unix

// Package children lets tests start the test binary again as a child process, a fake, and find such
// processes.
//
// It is only for tests. It imports nothing of ours, so that the tests of every package can use it.
package children

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience limits the wait for a child that must say something.
const patience = time.Minute

// Play runs a fake and ends the process, if it was started as "binary -fake NAME ARG…". Otherwise
// Play returns. A fake returns its exit code.
func Play(fakes map[string]func(args []string) int) {
	if len(os.Args) < 3 || os.Args[1] != "-fake" {
		return
	}
	fake, ok := fakes[os.Args[2]]
	if !ok {
		fmt.Fprintln(os.Stderr, "no such fake:", os.Args[2])
		syscall.Exit(64)
	}
	syscall.Exit(fake(os.Args[3:])) // os.Exit takes a second under the race detector
}

// AwaitUp waits until a child prints "up".
func AwaitUp(t testing.TB, stdout *os.File) {
	t.Helper()
	if err := stdout.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil || line != "up\n" {
		t.Fatalf("it said %q, %v", line, err)
	}
}

// Token returns a word that no other process on this machine has among its arguments.
func Token(t testing.TB) string {
	return strings.ReplaceAll(t.Name(), "/", "-") + "-" + strconv.FormatInt(time.Now().UnixNano(), 36)
}

// Bearing returns the running processes with this word among their arguments, in any namespace.
func Bearing(token string) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		panic(err)
	}
	var pids []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		cmdline, _ := os.ReadFile("/proc/" + entry.Name() + "/cmdline") // a zombie's is empty
		if bytes.Contains(cmdline, []byte("\x00"+token+"\x00")) {
			pids = append(pids, pid)
		}
	}
	return pids
}
