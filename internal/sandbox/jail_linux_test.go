package sandbox

import (
	"bufio"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/patchbay-dev/patchbay/internal/plugtest/children"
	"github.com/patchbay-dev/patchbay/internal/plugtest/eventually"
	"github.com/patchbay-dev/patchbay/internal/proc"
)

// deadly are the signals that end a program which does not handle them.
var deadly = []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGILL, syscall.SIGTRAP, syscall.SIGABRT, syscall.SIGBUS,
	syscall.SIGFPE, syscall.SIGKILL, syscall.SIGUSR1, syscall.SIGSEGV, syscall.SIGUSR2, syscall.SIGPIPE, syscall.SIGALRM, syscall.SIGTERM,
	syscall.SIGSTKFLT, syscall.SIGXCPU, syscall.SIGXFSZ, syscall.SIGVTALRM, syscall.SIGPROF, syscall.SIGIO, syscall.SIGPWR, syscall.SIGSYS}

func TestHowAProgramEnds(t *testing.T) {
	needNamespaces(t)
	handleIgnored(t, deadly)
	for _, code := range []int{0, 1, 2, 77, 126, 255} {
		t.Run("exit code "+strconv.Itoa(code), func(t *testing.T) {
			if got := run(t, sh(Options{}, "exit "+strconv.Itoa(code))).Exit; got != (proc.Exit{Code: code}) {
				t.Errorf("%v", got)
			}
		})
	}
	for _, s := range deadly {
		name := unix.SignalName(s)
		t.Run(name, func(t *testing.T) {
			r := run(t, sh(Options{}, "kill -"+strconv.Itoa(int(s))+" $$"))
			if r.Exit.Signal != name || r.Stderr != "" {
				t.Errorf("%v, stderr %q", r.Exit, r.Stderr)
			}
		})
	}
}

func TestWhatCannotBeStarted(t *testing.T) {
	s := newScene(t)
	explains(t, s, Options{})
}

// explains checks that the error of a program which cannot be started says why.
func explains(t *testing.T, s scene, o Options) {
	write(t, s.dir+"/plugin/plain", "#!/bin/sh\n", 0o644)
	write(t, s.dir+"/plugin/lost", "#!/no/such/interpreter\n", 0o755)
	write(t, s.dir+"/plugin/ok", "#!/bin/sh\necho ok\n", 0o755)
	link(t, "nowhere", s.dir+"/plugin/dangling")
	o.Own = []string{s.dir + "/plugin"}
	spec := func(name string) proc.Spec {
		return proc.Spec{Path: s.dir + "/plugin/" + name, Dir: "/", Env: []string{testPath}, Box: New(o)}
	}
	for _, c := range []struct {
		rule, name, want string
		err              error
	}{
		{"missing", "none", "no such file", syscall.ENOENT},
		{"a link to nothing", "dangling", "is a link to nowhere, which does not exist", syscall.ENOENT},
		{"not executable", "plain", "is not executable", syscall.EACCES},
		{"its interpreter is missing", "lost", "/no/such/interpreter", syscall.ENOENT},
	} {
		t.Run(c.rule, func(t *testing.T) {
			got := startError(t, spec(c.name))
			if !strings.Contains(got.Why, c.want) || !errors.Is(got, c.err) {
				t.Errorf("%q (%v), want %q", got.Why, got.Err, c.want)
			}
		})
	}
	t.Run("the working directory is missing", func(t *testing.T) {
		bad := spec("ok")
		bad.Dir = s.dir + "/no/such/dir"
		if got := startError(t, bad); !strings.Contains(got.Why, "its working directory "+bad.Dir+" does not exist") {
			t.Errorf("%q", got.Why)
		}
	})
	t.Run("a program without faults starts", func(t *testing.T) {
		expect(t, spec("ok"), "ok")
	})
}

// TestABoxThatCannotBeBuilt: the error names the step that failed.
func TestABoxThatCannotBeBuilt(t *testing.T) {
	needNamespaces(t)
	t.Run("a grant that is not possible", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		write(t, file, "", 0o644)
		got := startError(t, sh(Options{Grants: grants(t, "read:fs:"+file+"/beneath")}, "true"))
		build, ok := errors.AsType[*BuildError](got)
		if !ok || build.Stage != "open "+file+"/beneath" || build.Errno != syscall.ENOTDIR || !strings.Contains(got.Why, build.Error()) {
			t.Errorf("%v: %+v", got, build)
		}
	})
	t.Run("a jail that ends without a report is noticed at once", func(t *testing.T) {
		s := sh(Options{}, "true")
		s.Box = changed{s.Box, func(p *proc.Packed) { p.Path = tool(t, "false") }}
		if got := startError(t, s); !strings.Contains(got.Why, "the sandbox ended before the program was started") {
			t.Errorf("%q", got.Why)
		}
	})
}

// TestAHostThatIsBusy: a program may end before its host has read the report that it runs.
func TestAHostThatIsBusy(t *testing.T) {
	for name, system := range map[string]*System{"with namespaces": nil, "without": {Namespaces: errors.New("switched off")}} {
		t.Run(name, func(t *testing.T) {
			if needNamespaces(t); system != nil {
				needSimple(t)
			}
			s := sh(Options{System: system}, "echo said; exit 3")
			s.Box = changed{s.Box, func(p *proc.Packed) {
				await := p.Await
				p.Await = func(ctx context.Context) error {
					time.Sleep(time.Second) // the program takes a few milliseconds, and its output is awaited for a fifth of a second
					return await(ctx)
				}
			}}
			if r := run(t, s); string(r.Stdout) != "said\n" || r.Exit.Code != 3 {
				t.Errorf("%q, %v", r.Stdout, r.Exit)
			}
		})
	}
}

// changed is a box that starts something else.
type changed struct {
	proc.Box
	change func(*proc.Packed)
}

func (c changed) Pack(l proc.Launch) (*proc.Packed, error) {
	p, err := c.Box.Pack(l)
	if err == nil {
		c.change(p)
	}
	return p, err
}

func TestWhatPassesThrough(t *testing.T) {
	needNamespaces(t)
	passes(t, Options{})
}

// passes checks that a program has exactly what its Spec says.
func passes(t *testing.T, o Options) {
	t.Run("stdin, stdout and stderr", func(t *testing.T) {
		g := newGroup(t)
		r, err := g.Run(t.Context(), sh(o, `read a; echo "out $a"; echo "err $a" >&2`), proc.Call{Stdin: []byte("line\n")})
		if err != nil || string(r.Stdout) != "out line\n" || r.Stderr != "err line\n" {
			t.Errorf("%+v, %v", r, err)
		}
	})
	t.Run("files of the Spec, and no others", func(t *testing.T) {
		kept, err := unix.Open("/dev/null", unix.O_RDONLY, 0) // not closed on exec, as in a careless program
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(kept)
		var files []*os.File
		for _, text := range []string{"three", "four"} {
			path := filepath.Join(t.TempDir(), text)
			write(t, path, text+"\n", 0o644)
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			files = append(files, f)
		}
		s := fake(t, o, "open")
		s.Files = files
		expect(t, s, "3 \"three\\n\" <nil>\n4 \"four\\n\" <nil>")
	})
	t.Run("its name, arguments and environment are untouched", func(t *testing.T) {
		s := fake(t, o, "tell", "one", "", "three words \"\n")
		s.Name = "another name"
		s.Env = []string{"A=1", "B=", "EMPTY", "GOGC=50", "PATCHBAY=x"}
		want := []string{"another name", "-fake", "tell", "one", "", "three words \"\n", "/", "A=1", "B=", "EMPTY", "GOGC=50", "PATCHBAY=x"}
		got := strings.Split(strings.TrimSuffix(output(t, s), "\x00"), "\x00")
		got = slices.DeleteFunc(got, func(v string) bool {
			return o.System != nil && (strings.HasPrefix(v, "HOME=") || strings.HasPrefix(v, "TMPDIR=")) // without namespaces these name its own directory
		})
		if !slices.Equal(got, want) {
			t.Errorf("%q\nwant %q", got, want)
		}
	})
	t.Run("its working directory", func(t *testing.T) {
		dir := t.TempDir()
		s := sh(o, "pwd")
		s.Dir = dir
		expect(t, s, dir)
	})
	t.Run("no signal is ignored or blocked", func(t *testing.T) {
		expect(t, sh(o, `while read key value; do case $key in SigBlk:|SigIgn:) echo $key $value;; esac; done </proc/self/status`),
			"SigBlk: 0000000000000000\nSigIgn: "+ignoredHere(t))
	})
}

func TestStop(t *testing.T) {
	for name, o := range map[string]Options{"with namespaces": {}, "without": {System: &System{Namespaces: errors.New("switched off")}}} {
		t.Run(name, func(t *testing.T) {
			needNamespaces(t)
			if o.System != nil {
				needSimple(t)
			}
			g := newGroup(t)
			t.Run("a program that reads stdin ends with it", func(t *testing.T) {
				p := started(t, g, sh(o, "echo up; read line; exit 5"))
				if exit := p.Stop(t.Context(), proc.Ladder{Stdin: patience}); exit.Code != 5 {
					t.Error(exit)
				}
			})
			t.Run("SIGTERM reaches the program, which may finish its work", func(t *testing.T) {
				p := started(t, g, sh(o, `trap 'echo "last words" >&2; exit 7' TERM; echo up; while :; do read line || wait; done`))
				exit := p.Stop(t.Context(), proc.Ladder{Term: patience})
				if exit.Code != 7 || p.Stderr() != "last words\n" {
					t.Errorf("%v, %q", exit, p.Stderr())
				}
			})
			t.Run("SIGTERM ends a program that does not handle it", func(t *testing.T) {
				p := started(t, g, fake(t, o, "hang"))
				if exit := p.Stop(t.Context(), proc.Ladder{Term: patience}); exit.Signal != "SIGTERM" {
					t.Error(exit)
				}
			})
			t.Run("SIGKILL ends a program that ignores SIGTERM, with all processes that it started", func(t *testing.T) {
				word := children.Token(t)
				p := started(t, g, fake(t, o, "worst", word))
				eventually.True(t, "it has started another process", func() bool { return len(children.Bearing(word)) >= 2 })
				if exit := p.Stop(t.Context(), proc.Ladder{}); exit.Signal != "SIGKILL" {
					t.Error(exit)
				}
				eventually.True(t, "all of it is gone", func() bool { return len(children.Bearing(word)) == 0 })
			})
		})
	}
}

func TestLongLived(t *testing.T) {
	needNamespaces(t)
	g := newGroup(t)
	t.Run("a program that keeps running answers several lines", func(t *testing.T) {
		p := started(t, g, sh(Options{}, `echo up; while read line; do echo "you said $line"; done`))
		defer p.Stop(t.Context(), proc.Ladder{Stdin: patience})
		answers := bufio.NewReader(p.Stdout())
		for _, word := range []string{"one", "two"} {
			if _, err := p.Stdin().WriteString(word + "\n"); err != nil {
				t.Fatal(err)
			}
			if answer, err := answers.ReadString('\n'); err != nil || answer != "you said "+word+"\n" {
				t.Fatalf("%q, %v", answer, err)
			}
		}
	})
	t.Run("a program that waits for its call", func(t *testing.T) {
		standby := g.Standby(sh(Options{}, `read line; echo "you said $line"`), 2)
		defer standby.Close()
		for range 4 {
			r, err := standby.Run(t.Context(), proc.Call{Stdin: []byte("go\n")})
			if err != nil || string(r.Stdout) != "you said go\n" {
				t.Fatalf("%+v, %v", r, err)
			}
		}
	})
	t.Run("orphans are reaped", func(t *testing.T) {
		true_ := tool(t, "true")
		script := `i=0; while [ $i -lt 50 ]; do ( ( ` + true_ + ` & ) & ); i=$((i+1)); done
until n=0; for stat in /proc/[0-9]*/stat; do read line 2>/dev/null <$stat || continue; case $line in *') Z '*) n=$((n+1));; esac; done; [ $n -eq 0 ]; do :; done
echo none`
		expect(t, sh(Options{Grants: grants(t, "exec:true:"+true_)}, script), "none")
	})
	t.Run("processes that a program leaves behind end with it", func(t *testing.T) {
		word := children.Token(t)
		r := run(t, fake(t, Options{}, "leaves", word))
		if r.Exit != (proc.Exit{}) {
			t.Fatalf("%+v", r)
		}
		eventually.True(t, "all of it is gone", func() bool { return len(children.Bearing(word)) == 0 })
	})
}

// TestAKilledJail: killing the outer process ends the whole jail.
func TestAKilledJail(t *testing.T) {
	needNamespaces(t)
	g := newGroup(t)
	word := children.Token(t)
	p := started(t, g, fake(t, Options{}, "worst", word))
	if err := syscall.Kill(p.Pid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	if p.Exit().Signal != "SIGKILL" {
		t.Error(p.Exit())
	}
	eventually.True(t, "all of it is gone", func() bool { return len(children.Bearing(word)) == 0 })
	p.Stop(t.Context(), proc.Ladder{})
}

// TestNothingIsLeft: no descriptor, directory or process is left, whatever the result of the start.
// Goroutines are checked at the end of all tests.
func TestNothingIsLeft(t *testing.T) {
	for name, o := range map[string]Options{"with namespaces": {}, "without": {System: &System{Namespaces: errors.New("switched off")}},
		"with a network": {Grants: grants(t, "net:api.example.test:443")}} {
		t.Run(name, func(t *testing.T) {
			needNamespaces(t)
			t.Setenv("TMPDIR", t.TempDir())
			g := newGroup(t)
			word := children.Token(t)
			runAll := func() {
				for _, wait := range []time.Duration{0, 500 * time.Microsecond, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond, patience} {
					cancelled(t, g, fake(t, o, "quiet", word), wait)
				}
				missing := fake(t, o, "quiet", word)
				missing.Path = "/no/such/program"
				if _, err := g.Run(t.Context(), missing, proc.Call{}); err == nil {
					t.Error("it started")
				}
			}
			runAll() // starts the guardian, the poller and so on
			before := descriptors(t)
			for range 3 {
				runAll()
			}
			eventually.True(t, "no process is left", func() bool { return len(children.Bearing(word)) == 0 })
			eventually.True(t, "no descriptor is left", func() bool { return descriptors(t) <= before })
			if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) != 0 {
				t.Errorf("left: %v, %v", left, err)
			}
		})
	}
}

// cancelled runs a program and cancels it after a while: before, during and after its start.
func cancelled(t *testing.T, g *proc.Group, s proc.Spec, wait time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	_, err := g.Run(ctx, s, proc.Call{})
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("after %v: %v", wait, err)
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}
