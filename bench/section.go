package main

import (
	"context"
	"time"
)

// Names of the sections; bars refer to them.
const (
	sectionSmall    = "call-300"
	sectionLarge    = "call-64k"
	sectionInFlight = "in-flight"
	sectionAllocs   = "allocs"
	sectionSpawn    = "spawn"
	sectionStandby  = "standby"
	sectionStart    = "start"
	sectionPython   = "python"
	sectionMCP      = "mcp"
	sectionSDK      = "sdk"
	sectionTurns    = "turns"
	sectionTurnRate = "turn-rate"
	sectionTurnHeap = "turn-heap"
	sectionJobs     = "jobs"
	sectionJobHeap  = "job-heap"
	sectionFaults   = "faults"
	sectionBox      = "sandbox-spawn"
	sectionConnect  = "sandbox-connect"
	sectionBwrap    = "sandbox-bwrap"
	sectionCommand  = "command"
	sectionHooks    = "hooks"
	sectionSize     = "size"
	sectionPackages = "packages"
	sectionCold     = "cold-build"
	sectionIdle     = "idle"
)

// section is one question and how it is measured.
type section struct {
	name     string
	title    string
	unit     string // of the samples
	cpus     int    // how many processors host and plugins share; 0: as many as there are
	baseline string // the series whose multiples the table shows; empty: none
	measure  func(context.Context, effort) ([]Series, error)
}

// onlyIfNamed reports whether a section is measured only if --only names it, because it takes many
// minutes.
func (s section) onlyIfNamed() bool { return s.name == sectionCold }

// asOrdinaryUser reports whether a section must be measured by an ordinary user, not by root.
func (s section) asOrdinaryUser() bool { return s.name == sectionBwrap }

// limit returns the time after which a section is ended.
func (s section) limit() time.Duration {
	if s.onlyIfNamed() {
		return time.Hour
	}
	return sectionLimit
}

// effort says how long to measure, and which programs.
type effort struct {
	quick     bool
	program   string // patchbay
	old       string // an older one; empty: none
	source    string // the tree that programs are built from
	oldSource string // an older one; empty: none
}

// of scales a number of rounds.
func (e effort) of(rounds int) int {
	if e.quick {
		return max(rounds/5, 3) // fewer rounds have no quartiles
	}
	return rounds
}

// sections lists the sections in the order in which they are measured, without those about growth.
func sections() []section {
	return []section{
		{sectionSmall, "One call, 300 bytes, host and plugin on one core", "µs", 1, nameBare, measureSmall},
		{sectionLarge, "One call, 64 KiB, host and plugin on one core", "µs", 1, nameBare, measureLarge},
		{sectionInFlight, "64 calls in flight, 300 bytes, two cores", "calls/s", 2, nameGRPC, measureInFlight},
		{sectionAllocs, "Host heap allocations per 300-byte call", "allocs", 2, "", measureAllocs},
		{sectionSpawn, "One process per call, /bin/cat, 300 bytes", "ms", 0, nameBareSpawn, measureSpawn},
		{sectionStandby, "One Python process per call, with and without a spare standing by", "ms", 0, nameCold, measureStandby},
		{sectionStart, "Starting 16 plugins, until the last has answered its handshake", "ms", 0, "", measureStart},
		{sectionPython, "One hook call of the python dialect, 300 bytes", "µs", 0, "", measurePython},
		{sectionMCP, "One call of an MCP server's tool, 300 bytes", "µs", 0, nameMCPDirect, measureMCP},
		{sectionSDK, "One call of a plugin in Go, 300 bytes: by hand on encoding/json, and with the SDK; host and plugin on one core", "µs", 1, nameHandHook, measureSDK},
		{sectionTurns, "One turn of the agent: 16 plugins asked 48 times, the offline model, the transcript on disk", "ms", 0, nameTurn, measureTurns},
		{sectionTurnRate, "Such turns a second, one after another", "turns/s", 0, "", measureTurnRate},
		{sectionTurnHeap, "Live heap of the daemon during 1,000 such turns", "MB", 0, nameHeapEarly, measureTurnHeap},
		{sectionJobs, "A scheduled run of true: queue, record, output, state, all on disk; 32 at once", "ms", 0, nameBareTrue, measureJobs},
		{sectionJobHeap, "Live heap of the scheduler during 10,000 queued runs of true", "MB", 0, nameRunsEarly, measureJobHeap},
		{sectionBox, "One process per call, /bin/cat, 300 bytes, in a sandbox and without", "ms", 0, namePlain, measureSandboxSpawn},
		{sectionConnect, "One TCP connection and a line, from a sandbox and without", "ms", 0, nameConnect, measureSandboxConnect},
		{sectionBwrap, "One process per call, /bin/cat, 300 bytes, in a sandbox and in bubblewrap, as an ordinary user", "ms", 0, nameOrdinary, measureBwrap},
		{sectionCommand, "The command, from its start to its end", "ms", 0, nameHello, measureCommand},
		{sectionHooks, "A hook of another agent, from the start of its process to the end, 500 bytes", "ms", 0, nameHookHello, measureHooks},
		{sectionSize, "Size of programs", "MB", 0, "", measureSize},
		{sectionPackages, "Packages of others in a program that embeds the library", "packages", 0, "", measurePackages},
		{sectionCold, "A build with an empty cache", "s", 0, "", measureCold},
		{sectionIdle, "A daemon with 16 plugins and nothing to do", "value", 0, "", measureIdle},
		{sectionFaults, "One hook call, 300 bytes, beside a plugin that misbehaves, all on the same processors", "µs", 0, nameAlone, measureFaults},
	}
}

// measureSmall makes 60 × 200 = 12,000 calls of each contestant.
func measureSmall(ctx context.Context, e effort) ([]Series, error) {
	payload := payloadOf(smallCall)
	return each(ctx, e.of(60), oneAtATime(), func(c Contestant) turn { return timed(c, payload, warmUpSmall, 200) })
}

// measureLarge makes 80 × 10 = 800 calls of each contestant.
func measureLarge(ctx context.Context, e effort) ([]Series, error) {
	payload := payloadOf(largeCall)
	return each(ctx, e.of(80), oneAtATime(), func(c Contestant) turn { return timed(c, payload, warmUp, 10) })
}

// measureInFlight makes 20 × 64 × 40 = 51,200 calls of each contestant.
func measureInFlight(ctx context.Context, e effort) ([]Series, error) {
	payload := payloadOf(smallCall)
	return each(ctx, e.of(20), manyInFlight(), func(c Contestant) turn { return throughput(c, payload, 64, 40) })
}

// measureAllocs makes 10 × 200 = 2,000 calls of each contestant.
func measureAllocs(ctx context.Context, e effort) ([]Series, error) {
	payload := payloadOf(smallCall)
	return each(ctx, e.of(10), oneAtATime(), func(c Contestant) turn { return mallocs(c, payload, 200) })
}
