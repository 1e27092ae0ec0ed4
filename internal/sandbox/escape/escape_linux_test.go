package escape

import (
	"bufio"
	"cmp"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"os/user"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/machine"
	"github.com/patchbay-dev/patchbay/internal/plugtest/soak"
)

const (
	nobody = 65534

	// enough is how many attempts must succeed without the sandbox, so that failures in it mean
	// something. TestLegitimate must do at least as many pieces of work.
	enough = 40
)

// needs skips a test if the arena cannot be built. On CI a missing program is a failure.
func needs(t *testing.T) {
	t.Helper()
	switch {
	case raced:
		t.Skip("hundreds of starts take too long under the race detector: make test runs this package without it, too")
	case testing.Short():
		t.Skip("hundreds of processes")
	case runtime.GOARCH != "amd64":
		t.Skip("the canary programs are for x86-64")
	}
	for _, path := range []string{python, "/bin/bash"} {
		_, err := os.Stat(path)
		if err != nil && machine.CI() {
			t.Fatal(err)
		}
		if err != nil {
			t.Skip(err)
		}
	}
}

// users returns the users as which the host runs.
func users() []int {
	if uid := os.Geteuid(); uid != 0 {
		return []int{uid}
	}
	return []int{0, nobody}
}

func userName(uid int) string {
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		return u.Username
	}
	return strconv.Itoa(uid)
}

// A visit says how a host is started: as which user, for which task, and at which level.
type visit struct {
	uid   int
	what  string
	level string
	only  string // run only attempts whose names contain this; if empty, PATCHBAY_ESCAPE counts

	// If turns is not 0, an attempt is run only if its number modulo turns is turn.
	turn, turns int
}

// byTurns returns the visits of all users, who share the attempts: each attempt is made by one of
// them. With another shift, each attempt is made by another user. `make soak` lets each user make
// every attempt, and so does PATCHBAY_ESCAPE.
func byTurns(level string, shift int) []visit {
	all := users()
	var visits []visit
	for i, uid := range all {
		v := visit{uid: uid, what: "escapes", level: level}
		if !soak.Long() && os.Getenv("PATCHBAY_ESCAPE") == "" {
			v.turn, v.turns = (i+shift)%len(all), len(all)
		}
		visits = append(visits, v)
	}
	return visits
}

// inArena runs a host to its end and passes every line that it prints to line.
func inArena(t *testing.T, v visit, line func([]byte)) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	secret := make([]byte, 4)
	_, _ = rand.Read(secret) // never fails
	runtime.LockOSThread()   // the arena ends with the thread that started it
	defer runtime.UnlockOSThread()
	p, err := startStage("arena", []string{
		fmt.Sprintf("CANARY=canary-%x", secret), "HOST_UID=" + strconv.Itoa(v.uid), "WHAT=" + v.what, "LEVEL=" + v.level,
		"ONLY=" + cmp.Or(v.only, os.Getenv("PATCHBAY_ESCAPE")), "TURN=" + strconv.Itoa(v.turn), "TURNS=" + strconv.Itoa(v.turns),
	}, &os.ProcAttr{Files: []*os.File{nil, write, os.Stderr}, Sys: arenaAttr()})
	write.Close()
	if err != nil {
		machine.Lacks(t, machine.Namespaces, err)
	}
	lines := bufio.NewReader(read)
	for {
		text, err := lines.ReadBytes('\n')
		if err != nil {
			if err != io.EOF {
				t.Error(err)
			}
			break
		}
		line(text)
	}
	if err := waitFor(p); err != nil {
		t.Errorf("the arena: %v", err)
	}
}

// TestEscapes makes every attempt, free and boxed.
func TestEscapes(t *testing.T) {
	needs(t)
	for _, v := range byTurns(full, 0) {
		t.Run("as "+userName(v.uid), func(t *testing.T) {
			t.Parallel()
			var all []attempt
			inArena(t, v, func(line []byte) { all = append(all, decoded(t, line)) })
			report(t, all)
		})
	}
}

// report prints the table and fails for every attempt that has escaped.
func report(t *testing.T, all []attempt) {
	var table strings.Builder
	free := 0
	for _, a := range all {
		could := "no:  " + a.Free.Why
		if a.Free.Escaped {
			could = "yes: " + a.Free.Why
			free++
		}
		fmt.Fprintf(&table, "%-6s %-42s free %-60.60s boxed %s\n", a.Language, a.Name, could, a.Boxed.Why)
		if a.Boxed.Escaped {
			t.Errorf("%s %s escaped: %s", a.Language, a.Name, a.Boxed.Why)
		}
	}
	t.Logf("%d attempts, of which %d succeed without the sandbox\n%s", len(all), free, table.String())
	if free < enough && os.Getenv("PATCHBAY_ESCAPE") == "" {
		t.Errorf("only %d attempts succeed without the sandbox; %d are needed for the others to mean something", free, enough)
	}
}
