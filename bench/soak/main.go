package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// Exit codes.
const (
	exitFailed = 1 // a check failed
	exitError  = 2 // the soak itself could not be run
)

// options of the command.
type options struct {
	program   string
	length    time.Duration
	sessions  int
	messages  int
	watchers  int
	replays   int
	pause     time.Duration
	json      bool
	keepHome  bool
	intervals time.Duration
}

func main() {
	o, err := parse(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(exitError)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	report, err := newSoak(o).run(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(exitError)
	}
	if err := publish(report, o.json); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(exitError)
	}
	if !report.OK {
		os.Exit(exitFailed)
	}
}

func parse(args []string) (options, error) {
	var o options
	set := flag.NewFlagSet("soak", flag.ExitOnError)
	set.StringVar(&o.program, "program", beside("patchbay"), "the patchbay `program` to run")
	set.DurationVar(&o.length, "for", time.Hour, "how `long` the load lasts")
	set.IntVar(&o.sessions, "sessions", 50, "how many sessions get messages at once")
	set.IntVar(&o.messages, "messages", 100, "after how many messages a session is compared, deleted and replaced")
	set.IntVar(&o.watchers, "followers", 8, "how many followers read all events; every second one leaves and comes back")
	set.IntVar(&o.replays, "replays", 10_000, "how often a stretch of the journal is read again, spread over the time")
	set.DurationVar(&o.pause, "pause", 0, "how `long` a session waits between two messages")
	set.DurationVar(&o.intervals, "progress", time.Minute, "`time` between two lines of progress, on stderr")
	set.BoolVar(&o.json, "json", false, "print the summary as JSON")
	set.BoolVar(&o.keepHome, "keep", false, "keep the daemon's home; it is always kept if a check fails")
	if err := set.Parse(args); err != nil {
		return o, err
	}
	if o.length < 10*time.Second || o.sessions < 1 || o.messages < 1 || o.watchers < 1 || o.replays < 0 {
		return o, errors.New("wrong flags: --for must be at least ten seconds; --sessions, --messages and --followers must be at least one; --replays must not be negative")
	}
	if _, err := os.Stat(o.program); err != nil {
		return o, fmt.Errorf("%w: name the program with --program, or run `make soak`, which builds it", err)
	}
	var err error
	o.program, err = filepath.Abs(o.program) // it is started in another directory
	return o, err
}

// beside returns the path of a program in the directory of this one.
func beside(name string) string {
	self, err := os.Executable()
	if err != nil {
		return name // it is not found then, and the error says so
	}
	return filepath.Join(filepath.Dir(self), name)
}

func publish(r Report, asJSON bool) error {
	if !asJSON {
		_, err := os.Stdout.WriteString(r.text())
		return err
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", "  ")
	return out.Encode(r)
}
