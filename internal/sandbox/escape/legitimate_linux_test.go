package escape

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/proc"
)

// node is the path at which distributions install Node.js. If it is missing, JavaScript is left
// out.
const node = "/usr/bin/node"

// plugins says how legitimate work is run, one language in each row.
var plugins = []struct {
	name string
	argv []string
}{
	{"python", []string{python, ownDir + "/legitimate.py"}},
	{"bash", []string{"/bin/bash", ownDir + "/legitimate.sh"}},
	{"javascript", []string{node, ownDir + "/legitimate.mjs"}},
	{"go", []string{ownDir + "/plugin", "-stage", "plugin"}},
}

// A work is something that must succeed in the box.
type work struct {
	Language string
	Name     string
	Said     string // "ok", or the error
}

// TestLegitimate runs the usual work of plugins in the box of the escapes, with a few more
// programs.
func TestLegitimate(t *testing.T) {
	needs(t)
	for _, uid := range users() {
		t.Run("as "+userName(uid), func(t *testing.T) {
			t.Parallel()
			legitimate(t, visit{uid: uid, what: "legitimate", level: full}, nil)
		})
	}
}

// legitimate runs all work. The work in unable cannot be done at this level, and must fail.
func legitimate(t *testing.T, v visit, unable map[string]string) {
	seen := 0
	inArena(t, v, func(line []byte) {
		var w work
		if err := json.Unmarshal(line, &w); err != nil {
			t.Errorf("%q: %v", line, err)
		}
		seen++
		switch why, listed := unable[w.Language+" "+w.Name]; {
		case w.Said != "ok" && !listed:
			t.Errorf("%s cannot %s: %s", w.Language, w.Name, w.Said)
		case w.Said == "ok" && listed:
			t.Errorf("%s can %s, though it should not: %s", w.Language, w.Name, why)
		}
	})
	if seen < enough && os.Getenv("PATCHBAY_ESCAPE") == "" {
		t.Errorf("only %d pieces of work", seen)
	}
}

// runLegitimate is what the host does for the task "legitimate".
func runLegitimate(c *canaries, b *boxes) error {
	out := json.NewEncoder(os.Stdout)
	only := os.Getenv("ONLY")
	for _, p := range plugins {
		if _, err := os.Stat(p.argv[0]); errors.Is(err, os.ErrNotExist) {
			continue
		}
		names, _, err := runFree(freeSpec{argv: append(p.argv[:len(p.argv):len(p.argv)], "list")})
		if err != nil {
			return err
		}
		for _, name := range strings.Fields(names) {
			if !strings.Contains(p.name+" "+name, only) {
				continue
			}
			said, err := c.work(b, p.argv, name)
			if err == nil {
				err = out.Encode(work{p.name, name, said})
			}
			if err != nil {
				return err
			}
		}
	}
	return runManners(c, b, out)
}

// work does one piece of work in the box, and checks its result from outside.
func (c *canaries) work(b *boxes, argv []string, name string) (string, error) {
	if err := c.reset(); err != nil {
		return "", err
	}
	if err := os.RemoveAll(writeDir + "/library.so"); err != nil {
		return "", err
	}
	said, code, err := b.run(append(append(argv[:len(argv):len(argv)], name), c.targets()...))
	said = strings.TrimSpace(said)
	switch {
	case err != nil:
		return err.Error(), nil
	case said != "ok":
		return fmt.Sprintf("exit code %d: %s", code, said), nil
	}
	if text, _ := os.ReadFile(writeDir + "/written"); name == "write-granted-path" && string(text) != "by the plugin" {
		return fmt.Sprintf("outside the file is %q", text), nil
	}
	if changes := c.changes(); len(changes) > 0 {
		return "seen outside: " + strings.Join(changes, "; "), nil
	}
	return "ok", nil
}

// runManners checks that a process in the box starts and ends as one outside does.
func runManners(c *canaries, b *boxes, out *json.Encoder) error {
	for _, rule := range []struct {
		name  string
		check func(*canaries, *boxes) error
	}{
		{"pipes carry stdin to stdout", pipesCarry},
		{"an exit code is reported", exitCode},
		{"death by a signal is reported", deathBySignal},
		{"SIGTERM reaches the plugin, which may finish its work", terminated},
		{"a plugin that ignores SIGTERM is killed", killed},
		{"a file it writes belongs to the host's user", owned},
	} {
		if !strings.Contains(rule.name, os.Getenv("ONLY")) {
			continue
		}
		said := "ok"
		if err := rule.check(c, b); err != nil {
			said = err.Error()
		}
		if err := out.Encode(work{"manners:", rule.name, said}); err != nil {
			return err
		}
	}
	return nil
}

func script(text string) []string { return []string{"/bin/bash", "-c", text} }

func pipesCarry(_ *canaries, b *boxes) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	payload := strings.Repeat("a line of the payload\n", 10_000)
	r, err := b.group.Run(ctx, b.spec(script(`while read -r line; do echo "$line"; done; echo err >&2`)), proc.Call{Stdin: []byte(payload)})
	switch {
	case err != nil:
		return err
	case string(r.Stdout) != payload:
		return fmt.Errorf("%d bytes of %d came back", len(r.Stdout), len(payload))
	case r.Stderr != "err\n" && r.Stderr != "err":
		return fmt.Errorf("stderr is %q", r.Stderr)
	}
	return nil
}

// exits checks how a script ends.
func exits(b *boxes, text, want string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := b.group.Run(ctx, b.spec(script(text)), proc.Call{})
	if err == nil && r.Exit.String() != want {
		err = fmt.Errorf("it ended by %s, not %s: %s", r.Exit, want, cut(r.Stderr))
	}
	return err
}

func exitCode(_ *canaries, b *boxes) error {
	return errors.Join(exits(b, "exit 7", "exit code 7"), exits(b, "exit 0", "exit code 0"), exits(b, "exit 255", "exit code 255"))
}

func deathBySignal(_ *canaries, b *boxes) error {
	return errors.Join(exits(b, "kill -KILL $$", "SIGKILL"), exits(b, "kill -SEGV $$", "SIGSEGV"), exits(b, "kill -TERM $$", "SIGTERM"))
}

// up starts a script and waits until it prints "up".
func up(b *boxes, text string) (*proc.Process, *bufio.Reader, error) {
	p, err := b.group.Start(context.Background(), b.spec(script(text)))
	if err != nil {
		return nil, nil, err
	}
	if err := p.Stdout().SetReadDeadline(time.Now().Add(patience)); err != nil {
		return nil, nil, err
	}
	lines := bufio.NewReader(p.Stdout())
	if said, err := lines.ReadString('\n'); said != "up\n" {
		return nil, nil, fmt.Errorf("it said %q, %w; %s", said, err, p.Stderr())
	}
	return p, lines, nil
}

// idle lets a script wait without another program.
const idle = "; echo up; while :; do read -r -t 1 <> <(:); done"

func terminated(_ *canaries, b *boxes) error {
	p, lines, err := up(b, `trap 'echo bye; exit 3' TERM`+idle)
	if err != nil {
		return err
	}
	defer p.Stop(context.Background(), proc.Ladder{})
	if err := syscall.Kill(-p.Pid(), syscall.SIGTERM); err != nil {
		return err
	}
	last, err := lines.ReadString('\n')
	if err != nil {
		return fmt.Errorf("its last line was %q: %w", last, err)
	}
	<-p.Done()
	if exit := p.Exit(); last != "bye\n" || exit.Code != 3 {
		return fmt.Errorf("its last line was %q, and it ended by %s", last, exit)
	}
	return nil
}

func killed(_ *canaries, b *boxes) error {
	p, _, err := up(b, `trap '' TERM`+idle)
	if err != nil {
		return err
	}
	if exit := p.Stop(context.Background(), proc.Ladder{Term: 50 * time.Millisecond}); exit.Signal != "SIGKILL" {
		return fmt.Errorf("it ended by %s", exit)
	}
	return nil
}

func owned(c *canaries, b *boxes) error {
	if err := c.reset(); err != nil {
		return err
	}
	if err := exits(b, "umask 022; : >"+writeDir+"/mine", "exit code 0"); err != nil {
		return err
	}
	want := fmt.Sprintf("owner %d:%d,", os.Geteuid(), os.Getegid())
	if is := state(writeDir+"/mine", nil); !strings.Contains(is, want) {
		return fmt.Errorf("outside it has %s", is)
	}
	return nil
}
