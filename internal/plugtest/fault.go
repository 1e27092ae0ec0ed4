//go:build linux

package plugtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A Moment is when a plugin misbehaves.
type Moment string

// The moments of a plugin's life, in their order.
const (
	AtStart        Moment = "at-start"        // before it reads anything
	InHandshake    Moment = "in-handshake"    // when it gets the handshake
	AfterHandshake Moment = "after-handshake" // after the handshake, before its first call
	InHook         Moment = "in-hook"         // instead of its answer, the first time
	AfterHook      Moment = "after-hook"      // right after its first answer
	WhenTold       Moment = "when-told"       // while no call is running: see [Tell]
	InTool         Moment = "in-tool"         // like InHook, in a tool
	InHealth       Moment = "in-health"       // in a health check
	InShutdown     Moment = "in-shutdown"     // in its shutdown
)

var moments = []Moment{AtStart, InHandshake, AfterHandshake, InHook, AfterHook, WhenTold, InTool, InHealth, InShutdown}

// A Fault is one misbehaviour: what a plugin does (a name in [acts]), and when. The zero value is
// no fault.
type Fault struct {
	Moment Moment
	Act    string
}

// Well is the name of a plugin without a fault.
const Well = "well"

// faultWord begins the name of a plugin with a fault.
const faultWord = "fault-"

// Plugin returns the name of a plugin with this fault. Every dialect allows it: small letters and
// hyphens.
func (f Fault) Plugin() string {
	if f.Act == "" {
		return Well
	}
	return faultWord + string(f.Moment) + "-" + f.Act
}

// faultOf returns the fault of a plugin's name.
func faultOf(plugin string) (f Fault, ok bool) {
	if plugin == Well {
		return Fault{}, true
	}
	rest, ok := strings.CutPrefix(plugin, faultWord)
	for _, m := range moments {
		if act, found := strings.CutPrefix(rest, string(m)+"-"); ok && found {
			return Fault{m, act}, true
		}
	}
	return Fault{}, false
}

// The dialects in which a fault can be played.
const (
	Scaffold = "scaffold"
	Kaged    = "kaged"
	Mine     = "mine"
	Dotagent = "dotagent"
	Python   = "python"
)

// programInfix is between the dialect and the plugin in the file name of a program, as dotagent and
// mine require.
const programInfix = "-plugin-"

// PlayFault plays the plugin if this process was started as one, and does not return then. It
// belongs at the beginning of TestMain.
func PlayFault() {
	dialect, plugin, ok := strings.Cut(strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe"), programInfix)
	f, known := faultOf(plugin)
	if !ok || !known {
		return
	}
	p := &faulty{Fault: f, dialect: dialect, plugin: plugin}
	p.note(fmt.Sprintf("%s %d", pidWord, os.Getpid()))
	switch dialect {
	case Scaffold, Kaged:
		p.serve()
	case Mine, Dotagent:
		p.once()
	}
	quit(0)
}

// A faulty plays a plugin with a fault. It belongs to one goroutine; a second one, for WhenTold,
// shares only the fault.
type faulty struct {
	Fault
	dialect string
	plugin  string
	late    []string // replies to send before the next one
	kept    []string // replies to send after the next one
	stays   bool     // it does not end when its stdin ends
}

// always ends the name of an act that is repeated.
const always = "-always"

// is reports whether the fault begins at this moment. At AtStart, InHandshake, InHealth and
// InShutdown it begins every time. At other moments it begins once, unless the act's name ends in
// always: a file beside the plugin records it, so that a test can see the plugin work afterwards,
// also in another process.
func (p *faulty) is(m Moment) bool {
	if p.Act == "" || p.Moment != m {
		return false
	}
	switch m {
	case AtStart, InHandshake, InHealth, InShutdown:
		return true
	}
	return strings.HasSuffix(p.Act, always) || p.first()
}

func (p *faulty) first() bool {
	f, err := os.OpenFile(os.Args[0]+".did", os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return false
	}
	f.Close()
	return true
}

// The words of the record below a home: which processes were started, and which moments were
// reached.
const (
	recordFile = "fault.record"
	pidWord    = "pid"
	actWord    = "act" // the fault begins now
	endWord    = "end" // the plugin was asked to end
	toldFile   = "fault.told"
)

// note appends one line to the record.
func (p *faulty) note(line string) { noteAt(os.Getenv("HOME"), line) }

func noteAt(home, line string) {
	f, err := os.OpenFile(filepath.Join(home, recordFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err) // the fake's own home
	}
	defer f.Close()
	if _, err := f.WriteString(line + "\n"); err != nil {
		panic(err)
	}
}

// A FaultRecord is the record of the plugins below one home.
type FaultRecord struct {
	Pids  []string // of their processes, and of those that they left running
	Acted bool     // the fault has begun
	Ended []string // the names of plugins that were asked to end
}

// ReadFaults reads the record of the plugins below home.
func ReadFaults(t testing.TB, home string) FaultRecord {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(home, recordFile))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var r FaultRecord
	for line := range strings.Lines(string(data)) {
		switch word, rest, _ := strings.Cut(strings.TrimSpace(line), " "); word {
		case pidWord:
			r.Pids = append(r.Pids, rest)
		case actWord:
			r.Acted = true
		case endWord:
			r.Ended = append(r.Ended, rest)
		}
	}
	return r
}

// Tell makes the plugins below home misbehave whose fault has the moment WhenTold.
func Tell(t testing.TB, home string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(home, toldFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}
