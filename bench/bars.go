package main

import (
	"math"
	"slices"
)

// Bar is one promise: a ratio between two series of one section, and its limit.
type Bar struct {
	What    string
	Section string
	Of      string  // the series measured
	Over    string  // the series it is divided by; empty: the value itself counts
	Less    string  // the series that is subtracted from Of and Over first; empty: none
	Limit   float64 // at most this, or, with AtLeast, at least
	AtLeast bool
}

// bars lists the promises of docs/performance.md, except those about growth.
func bars() []Bar {
	return []Bar{
		{What: "wire call, 300 B, of bare pipe", Section: sectionSmall, Of: nameWire, Over: nameBare, Limit: 1.3},
		{What: "Host.Fire, 300 B, watched, of bare pipe", Section: sectionSmall, Of: nameFire, Over: nameBare, Limit: 1.6},
		{What: "Host.Fire, 300 B, handed back, of bare pipe", Section: sectionSmall, Of: nameFireBack, Over: nameBare, Limit: 1.6},
		{What: "Host.Fire, 300 B, text edited, of bare pipe", Section: sectionSmall, Of: nameFireText, Over: nameBare, Limit: 2.2},
		{What: "Host.Fire, 300 B, object edited, of bare pipe", Section: sectionSmall, Of: nameFireObj, Over: nameBare, Limit: 2.2},
		{What: "wire call, 300 B, faster than go-plugin gRPC", Section: sectionSmall, Of: nameGRPC, Over: nameWire, Limit: 10, AtLeast: true},
		{What: "wire call, 300 B, faster than the MCP Go SDK", Section: sectionSmall, Of: nameMCP, Over: nameWire, Limit: 25, AtLeast: true},
		{What: "wire call, 64 KiB, of bare pipe", Section: sectionLarge, Of: nameWire, Over: nameBare, Limit: 2.5},
		{What: "Host.Fire, 64 KiB, watched, of bare pipe", Section: sectionLarge, Of: nameFire, Over: nameBare, Limit: 3.5},
		{What: "Host.Fire, 64 KiB, handed back, of bare pipe", Section: sectionLarge, Of: nameFireBack, Over: nameBare, Limit: 3.5},
		{What: "Host.Fire, 64 KiB, text edited, of bare pipe", Section: sectionLarge, Of: nameFireText, Over: nameBare, Limit: 8},
		{What: "Host.Fire, 64 KiB, object edited, of bare pipe", Section: sectionLarge, Of: nameFireObj, Over: nameBare, Limit: 8},
		{What: "wire call, 64 KiB, faster than go-plugin gRPC", Section: sectionLarge, Of: nameGRPC, Over: nameWire, Limit: 4, AtLeast: true},
		{What: "64 in flight, wire, calls per second, of go-plugin gRPC", Section: sectionInFlight, Of: namePeer, Over: nameGRPC, Limit: 12, AtLeast: true},
		{What: "64 in flight, Host.Fire, watched, of go-plugin gRPC", Section: sectionInFlight, Of: nameFireMany, Over: nameGRPC, Limit: 7, AtLeast: true},
		{What: "host allocations per wire call, one in flight", Section: sectionAllocs, Of: nameWire, Limit: 2},
		{What: "host allocations per wire call, many in flight", Section: sectionAllocs, Of: namePeer, Limit: 2},
		{What: "process per call, of a bare spawn", Section: sectionSpawn, Of: nameRun, Over: nameBareSpawn, Limit: 1.1},
		{What: "standby, Python, faster than a cold start", Section: sectionStandby, Of: nameCold, Over: nameStandby, Limit: 6, AtLeast: true},
		{What: "16 Go plugins started, of a bare parallel start", Section: sectionStart, Of: nameOpen, Over: nameBareStart, Limit: 1.2},
		{What: "16 Python plugins started, of a bare parallel start", Section: sectionStart, Of: nameOpenPython, Over: nameBarePython, Limit: 1.2},
		{What: "sandboxed spawn, ms over a plain one", Section: sectionBox, Of: nameBoxed, Less: namePlain, Limit: 15},
		{What: "the same with a host granted, ms over a plain one", Section: sectionBox, Of: nameBoxedNet, Less: namePlain, Limit: 15},
		{What: "what a sandbox built ahead adds, ordinary user, without patchbay-jail, of what bwrap adds", Section: sectionBwrap, Of: nameOrdinaryBoxed, Over: nameBwrap, Less: nameOrdinary, Limit: 1.8},
		{What: "patchbay version, of a hello-world", Section: sectionCommand, Of: nameVersion, Over: nameHello, Limit: 7},
		{What: "patchbay plugin list without plugins, of a hello-world", Section: sectionCommand, Of: nameList, Over: nameHello, Limit: 9},
		{What: "a hook, warm daemon, no plugin, ms over a hello-world", Section: sectionHooks, Of: nameHookNone, Less: nameHookHello, Limit: 8},
		{What: "start of patchbay-hook, of a hello-world", Section: sectionHooks, Of: nameHookOff, Over: nameHookHello, Limit: 2},
		{What: "a program that embeds the library, MB", Section: sectionSize, Of: nameEmbed, Limit: 13},
		{What: "packages of others in it", Section: sectionPackages, Of: nameEmbed, Limit: 60},
		{What: "patchbay, stripped, MB", Section: sectionSize, Of: nameStripped, Limit: 48},
		{What: "cold build of cmd/patchbay, of the old tree", Section: sectionCold, Of: nameProgram, Over: oldPrefix + nameProgram, Limit: 0.55},
		{What: "cold build of examples/embed, of the old tree", Section: sectionCold, Of: nameEmbed, Over: oldPrefix + nameEmbed, Limit: 0.4},
		{What: "idle daemon, 16 plugins, resident MB", Section: sectionIdle, Of: nameResident, Limit: 45},
		{What: "idle daemon, 16 plugins, anonymous MB", Section: sectionIdle, Of: nameAnonymous, Limit: 15},
		{What: "idle daemon, 16 plugins, % of a processor", Section: sectionIdle, Of: nameProcessor, Limit: 0.5},
		{What: "connection by name in a sandbox, ms over a direct one", Section: sectionConnect, Of: nameConnectName, Less: nameConnect, Limit: 1},
		{What: "python-dialect hook call, µs", Section: sectionPython, Of: namePython, Limit: 300},
		{What: "a hook of the SDK, of one by hand on encoding/json", Section: sectionSDK, Of: nameSDKHook, Over: nameHandHook, Limit: 1.1},
		{What: "a scaffold tool of the SDK, of one by hand", Section: sectionSDK, Of: nameSDKTool, Over: nameHandTool, Limit: 1.1},
		{What: "a kaged tool of the SDK, of one by hand", Section: sectionSDK, Of: nameSDKKaged, Over: nameHandKaged, Limit: 1.1},
		{What: "live heap after 1,000 turns, of that after 250", Section: sectionTurnHeap, Of: nameHeapLate, Over: nameHeapEarly, Limit: 1.1},
	}
}

// allBars lists all promises, those about growth included.
func allBars() []Bar { return slices.Concat(bars(), growthBars()) }

// Status says whether a bar was kept.
type Status string

// The statuses. Only Missed fails the run.
const (
	Kept        Status = "ok"
	WithinNoise Status = "within noise" // beyond the limit by less than the noise of this run
	Missed      Status = "MISSED"
	NotMeasured Status = "not measured"
)

// Judgement is a bar, its measured ratio, and the status.
type Judgement struct {
	Bar
	Ratio
	Status Status
	Why    string // the reason, if it was not measured
}

// judge compares the series of the bar's section with the bar.
func judge(b Bar, all []Series) Judgement {
	var over, less *Series
	of, why := pick(all, b.Of)
	if why != "" {
		return Judgement{Bar: b, Status: NotMeasured, Why: why}
	}
	for _, other := range []struct {
		name string
		to   **Series
	}{{b.Over, &over}, {b.Less, &less}} {
		if other.name == "" {
			continue
		}
		if *other.to, why = pick(all, other.name); why != "" {
			return Judgement{Bar: b, Status: NotMeasured, Why: why}
		}
	}
	if less != nil {
		of = of.minus(less)
		over = over.minus(less)
	}
	ratio := ratioOf(*of, over)
	if b.Over == "" && b.Less == "" {
		ratio.Value = tenths(ratio.Value)
	}
	return Judgement{Bar: b, Ratio: ratio, Status: b.status(ratio)}
}

// status compares a ratio with the limit, and then with the limit widened by the noise.
func (b Bar) status(r Ratio) Status {
	switch {
	case b.holds(r.Value, b.Limit):
		return Kept
	case b.AtLeast && b.holds(r.Value, b.Limit/(1+r.Noise)), !b.AtLeast && b.holds(r.Value, b.Limit*(1+r.Noise)):
		return WithinNoise
	}
	return Missed
}

// holds reports whether value keeps limit. It is false for NaN, for upper and lower limits.
func (b Bar) holds(value, limit float64) bool {
	if b.AtLeast {
		return value >= limit
	}
	return value <= limit
}

// pick finds a series with samples, or says why there is none.
func pick(all []Series, name string) (s *Series, why string) {
	for i := range all {
		if all[i].Name != name {
			continue
		}
		if all[i].Skip != "" {
			return nil, all[i].Skip
		}
		return &all[i], ""
	}
	return nil, "no " + name + " in this run"
}

// tenths rounds a count per call: allocations of the runtime itself add a few thousandths.
func tenths(v float64) float64 { return math.Round(v*10) / 10 }
