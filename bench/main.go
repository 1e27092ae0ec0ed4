package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// envSection names the section that this process measures.
	envSection = "BENCH_SECTION"
	// envQuick says that this process measures fewer rounds.
	envQuick = "BENCH_QUICK"
	// envProgram and envOld name the patchbay that sections start as a daemon, and an older one.
	envProgram = "BENCH_PROGRAM"
	envOld     = "BENCH_OLD"
	// envSource and envOldSource name the source tree that sections build, and an older one.
	envSource    = "BENCH_SOURCE"
	envOldSource = "BENCH_OLD_SOURCE"
	// sectionLimit ends a section that hangs.
	sectionLimit = 10 * time.Minute
)

// Exit codes.
const (
	exitKept   = 0
	exitMissed = 1 // a bar was missed by more than the noise
	exitError  = 2 // something could not be measured, or the flags are wrong
)

func main() {
	if name := childName(); name != "" {
		exitOn(runChild(name))
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if name := os.Getenv(envSection); name != "" {
		exitOn(runSectionHere(ctx, name))
		return
	}
	report, err := run(ctx, os.Args[1:])
	exitOn(err)
	if report.missed() {
		os.Exit(exitMissed)
	}
	os.Exit(exitKept)
}

// exitOn ends the process if there is an error.
func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(exitError)
	}
}

// flags of the command.
type flags struct {
	quick    bool
	only     string // sections, separated by commas
	json     bool
	markdown string // file
	program  string // patchbay
	old      string // an older patchbay; empty: none

	source, oldSource string // source trees; the latter may be empty
}

// run is the command itself: measure, judge, report.
func run(ctx context.Context, args []string) (Report, error) {
	var f flags
	set := flag.NewFlagSet("bench", flag.ExitOnError)
	set.BoolVar(&f.quick, "quick", false, "fewer rounds, more noise")
	set.StringVar(&f.only, "only", "", "measure only these sections, separated by commas: "+strings.Join(sectionNames(), ", "))
	set.BoolVar(&f.json, "json", false, "print the report as JSON")
	set.StringVar(&f.markdown, "markdown", "", "write the tables to this `file` too")
	set.StringVar(&f.program, "program", besideThis("patchbay"), "the patchbay `program` whose daemon is measured")
	set.StringVar(&f.old, "old", "", "an older patchbay `program`, measured in turns with it in the sections command and idle, and most sections about growth")
	set.StringVar(&f.source, "source", besideThis(".."), "the source `tree` whose programs are built")
	set.StringVar(&f.oldSource, "old-source", "", "an older source `tree`, whose programs are built too")
	if err := set.Parse(args); err != nil {
		return Report{}, err
	}
	if err := f.absolute(); err != nil {
		return Report{}, err
	}
	chosen, err := choose(f.only)
	if err != nil {
		return Report{}, err
	}
	report, err := measureAll(ctx, chosen, f)
	return report, errors.Join(publish(report, f), err)
}

// absolute makes the paths absolute, because processes are started in other directories.
func (f *flags) absolute() error {
	for _, path := range []*string{&f.program, &f.old, &f.source, &f.oldSource} {
		if *path == "" {
			continue
		}
		whole, err := filepath.Abs(*path)
		if err != nil {
			return err
		}
		*path = whole
	}
	return nil
}

// allSections lists the sections about costs and the sections about growth.
func allSections() []section { return slices.Concat(sections(), growthSections()) }

// sectionNames returns the names of all sections, in order.
func sectionNames() []string {
	var names []string
	for _, s := range allSections() {
		names = append(names, s.name)
	}
	return names
}

// choose returns the named sections. Without a name it returns all except those that must be named.
func choose(only string) ([]section, error) {
	all := allSections()
	if only == "" {
		return slices.DeleteFunc(all, section.onlyIfNamed), nil
	}
	wanted := strings.Split(only, ",")
	for _, name := range wanted {
		if !slices.Contains(sectionNames(), name) {
			return nil, fmt.Errorf("no section %q; there are %s", name, strings.Join(sectionNames(), ", "))
		}
	}
	return slices.DeleteFunc(all, func(s section) bool { return !slices.Contains(wanted, s.name) }), nil
}

// measureAll measures the sections one after another and judges their bars. A section that fails is
// part of the error, and does not stop the others.
func measureAll(ctx context.Context, chosen []section, f flags) (Report, error) {
	report := Report{Machine: thisMachine(), Quick: f.quick}
	var failed error
	for _, s := range chosen {
		fmt.Fprintf(os.Stderr, "bench: %s …\n", s.name)
		series, where, err := runSection(ctx, s, f)
		if ctx.Err() != nil {
			return report, errors.Join(failed, ctx.Err())
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("section %s: %w", s.name, err))
			continue
		}
		report.Sections = append(report.Sections, summary(s, where, series))
		for _, b := range allBars() {
			if b.Section == s.name {
				report.Bars = append(report.Bars, barRow(judge(b, series)))
			}
		}
	}
	return report, failed
}

// runSection measures one section in a separate process, which can be pinned and does not inherit
// the heap of the section before.
func runSection(ctx context.Context, s section, f flags) (series []Series, where string, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, "", err
	}
	var out, said bytes.Buffer
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), envSection+"="+s.name, envQuick+"="+strconv.FormatBool(f.quick), envProgram+"="+f.program, envOld+"="+f.old,
		envSource+"="+f.source, envOldSource+"="+f.oldSource)
	if s.cpus > 0 {
		cmd.Env = append(cmd.Env, "GOMAXPROCS="+strconv.Itoa(s.cpus))
	}
	// The output of the peers' libraries is shown only if the section fails.
	cmd.Stdout, cmd.Stderr = &out, &said
	// An interrupt, not a kill: a killed host leaves go-plugin's children behind.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	if s.asOrdinaryUser() {
		undo, oerr := asOrdinary(cmd)
		if oerr != nil {
			return nil, "", oerr
		}
		defer func() { err = errors.Join(err, undo()) }()
	}
	if where, err = pinned(s.cpus, cmd.Start); err != nil {
		return nil, where, err
	}
	if err := cmd.Wait(); err != nil {
		return nil, where, fmt.Errorf("%w: %s", err, bytes.TrimSpace(said.Bytes()))
	}
	return series, where, json.Unmarshal(out.Bytes(), &series)
}

// runSectionHere is the main function of a section's process. It writes the series to stdout as
// JSON.
func runSectionHere(ctx context.Context, name string) error {
	chosen, err := choose(name)
	if err != nil {
		return err
	}
	// The context has no deadline: gRPC would send it with every call, which costs time.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer time.AfterFunc(chosen[0].limit(), cancel).Stop()
	// The children of this process must not run as sections.
	if err := os.Unsetenv(envSection); err != nil {
		return err
	}
	series, err := chosen[0].measure(ctx, effort{quick: os.Getenv(envQuick) == "true", program: os.Getenv(envProgram), old: os.Getenv(envOld),
		source: os.Getenv(envSource), oldSource: os.Getenv(envOldSource)})
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(series)
}

// publish prints the report, and writes it to the file of --markdown.
func publish(r Report, f flags) error {
	if f.markdown != "" {
		if err := writeFile(f.markdown, r.writeMarkdown); err != nil {
			return err
		}
	}
	if f.json {
		return r.writeJSON(os.Stdout)
	}
	return r.writeMarkdown(os.Stdout)
}

// writeFile creates a file and calls write with it. An error of Close is an error too.
func writeFile(path string, write func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	err = write(file)
	if cerr := file.Close(); err == nil {
		err = cerr
	}
	return err
}

// besideThis returns the path of a program in the directory of this one.
func besideThis(name string) string {
	self, err := os.Executable()
	if err != nil {
		return name // it is not found then, and the error says so
	}
	return filepath.Join(filepath.Dir(self), name)
}
