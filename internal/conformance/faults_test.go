//go:build unix

package conformance

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
	"github.com/patchbay-dev/patchbay/internal/plugtest/soak"
)

// A fault is a plugin with one fault, and the expected result: the ids, without the dialect, of the
// checks that fail or warn. "!" before an id means that the check fails, "?" that it warns.
type fault struct {
	dialect string
	name    string
	want    string
	brief   string // the check that ends in a timeout: it gets little time
	only    string // the checks to run, if the others would take long
}

// rpcFaults returns the faults of every dialect that speaks JSON-RPC.
func rpcFaults(name string) []fault {
	together := " !requests.together" // it is unclear which of several requests is answered
	if name == "scaffold" {
		together = ""
	}
	all := []fault{
		{name: "hang-start", want: "!handshake.answer", brief: "handshake.answer"},
		{name: "no-flush", want: "!handshake.answer", brief: "handshake.answer"},
		{name: "no-newline", want: "!handshake.answer", brief: "handshake.answer"},
		{name: "start-error", want: "!handshake.answer"},
		{name: "start-text", want: "!handshake.answer"},
		{name: "slow-start", want: "?handshake.time", brief: "handshake.time"},
		{name: "latin-1", want: "!rpc.envelope"},
		{name: "no-version", want: "!rpc.envelope"},
		{name: "both", want: "!rpc.envelope"},
		{name: "error-text", want: "?method.unknown !rpc.envelope"},
		{name: "wrong-id", want: "!rpc.id" + together, brief: "requests.together"},
		{name: "text-id", want: "!rpc.id"},
		{name: "twice", want: "!rpc.id"},
		{name: "banner", want: "!stdout.clean"},
		{name: "debug", want: "!stdout.clean"},
		{name: "pretty", want: "!stdout.clean"},
		{name: "unknown-code", want: "?method.unknown"},
		{name: "unknown-ok", want: "?method.unknown"},
		{name: "unknown-silent", want: "!method.unknown", brief: "method.unknown"},
		{name: "unknown-dies", want: "!method.unknown"},
		{name: "garbled-dies", want: "?input.garbled"},
		{name: "garbled-hangs", want: "!input.garbled", brief: "input.garbled"},
		{name: "pieces", want: "!input.pieces", brief: "input.pieces"},
		{name: "short-lines", want: "!input.huge"},
		{name: "lock", want: "!process.twice"},
		{name: "stays-at-eof", want: "!stdin.end", brief: "stdin.end"},
		{name: "crashes-at-eof", want: "!stdin.end"},
		{name: "leaves", want: "!process.left"},
	}
	if name != "mcp" {
		all = append(all, fault{name: "no-shutdown", want: "!shutdown.answer", brief: "shutdown.answer"},
			fault{name: "stays-after-shutdown", want: "!shutdown.exit", brief: "shutdown.exit"},
			fault{name: "exit-code", want: "?shutdown.exit"})
	}
	if name != "scaffold" {
		all = append(all, fault{name: "answers-notifications", want: "!notification.silent"},
			fault{name: "no-id", want: "!rpc.envelope" + together, brief: "requests.together"},
			fault{name: "drops", want: "!requests.together", brief: "requests.together"})
	}
	for i := range all {
		all[i].dialect = name
	}
	return all
}

func faults() []fault {
	of := func(dialect string, list ...fault) []fault {
		for i := range list {
			list[i].dialect = dialect
		}
		return list
	}
	return slices.Concat(
		rpcFaults("scaffold"), rpcFaults("kaged"), rpcFaults("mcp"),
		of("scaffold",
			fault{name: "not-executable", want: "!file.executable"},
			fault{name: "no-interpreter", want: "!file.executable"},
			fault{name: "name", want: "!handshake.name"},
			fault{name: "fields", want: "!handshake.fields"},
			fault{name: "priority", want: "!handshake.fields"},
			fault{name: "hooks", want: "!handshake.hooks"},
			fault{name: "tools", want: "!handshake.tools"},
			fault{name: "tool-type", want: "!handshake.tools"},
			fault{name: "hook-silent", want: "!hook.answers", brief: "hook.answers"},
			fault{name: "hook-error", want: "!hook.answers"},
			fault{name: "hook-list", want: "!hook.answers"},
			fault{name: "hook-dies", want: "!hook.answers"},
			fault{name: "action", want: "!hook.action"},
			fault{name: "field", want: "!hook.fields"},
			fault{name: "misspelt", want: "?hook.fields"},
			fault{name: "odd-key", want: "?handshake.fields"},
			fault{name: "tool-silent", want: "!tool.answers", brief: "tool.answers"},
			fault{name: "tool-result", want: "!tool.answers"},
			fault{name: "tool-success", want: "!tool.answers"},
			fault{name: "tool-any", want: "?tool.unknown"},
		),
		of("scaffold", scaffoldClaims...),
		of("kaged",
			fault{name: "manifest", want: "!manifest.valid"},
			fault{name: "odd", want: "?manifest.odd"},
			fault{name: "no-program", want: "!handshake.answer"},
			fault{name: "config-any", want: "?config.refused"},
			fault{name: "config-refused", want: "!config.accepted"},
			fault{name: "api", want: "!handshake.version"},
			fault{name: "welcome-name", want: "?handshake.fields"},
			fault{name: "welcome-method", want: "?handshake.fields"},
			fault{name: "welcome-type", want: "!handshake.fields"},
			fault{name: "hook-silent", want: "!hook.answers", brief: "hook.answers"},
			fault{name: "hook-error", want: "!hook.answers"},
			fault{name: "inject", want: "!hook.result"},
			fault{name: "hook-stray", want: "?hook.result"},
			fault{name: "retain", want: "!hook.result"},
			fault{name: "tool", want: "!tool.answers"},
			fault{name: "tool-silent", want: "!tool.answers", brief: "tool.answers", only: "kaged.tool"},
			fault{name: "tool-fails", want: "?tool.answers"},
			fault{name: "method", want: "!method.answers"},
			fault{name: "method-silent", want: "!method.answers", brief: "method.answers"},
			fault{name: "health", want: "!health.answer", brief: "health.answer"},
			fault{name: "undeclared", want: "!notification.declared"},
			fault{name: "flood", want: "!notification.rate"},
			fault{name: "request", want: "!request.known"},
			fault{name: "request-params", want: "!request.known"},
			fault{name: "storage", want: "!storage.declared"},
			fault{name: "storage-used", want: ""},
			fault{name: "file", want: "?tool.answers !sandbox.denied"},
			fault{name: "write", want: "!sandbox.denied"},
			fault{name: "program", want: "!sandbox.denied"},
			fault{name: "network", want: "!sandbox.denied"},
		),
		of("mcp",
			fault{name: "modern", want: ""},
			fault{name: "version", want: "!handshake.version"},
			fault{name: "info", want: "!handshake.info"},
			fault{name: "capabilities", want: "!handshake.info"},
			fault{name: "ping", want: "!ping.answer"},
			fault{name: "tools", want: "!tools.list"},
			fault{name: "tools-schema", want: "!tools.list"},
			fault{name: "pages", want: "!tools.list"},
			fault{name: "content", want: "!tools.call"},
			fault{name: "call-error", want: "?tools.call"},
			fault{name: "output", want: "!tools.output"},
			fault{name: "tool-any", want: "!tools.unknown"},
			fault{name: "prompts", want: "!prompts.list"},
			fault{name: "resources", want: "!resources.list"},
		),
		of("dotagent",
			fault{name: "not-executable", want: "!file.executable"},
			fault{name: "misnamed", want: "!file.name"},
			fault{name: "info-hangs", want: "!info.json", brief: "info.json"},
			fault{name: "info-text", want: "!info.json"},
			fault{name: "info-exit", want: "!info.json"},
			fault{name: "name", want: "!info.name"},
			fault{name: "other-name", want: "?info.name"},
			fault{name: "fields", want: "!info.fields"},
			fault{name: "kinds-text", want: "!info.kinds"},
			fault{name: "kinds", want: "!info.kinds"},
			fault{name: "schema", want: "!info.schema"},
			fault{name: "schema-any", want: "?config.refused"},
			fault{name: "validate-text", want: "!validate.reply"},
			fault{name: "no-ok", want: "!invoke.reply"},
			fault{name: "invoke-hangs", want: "!invoke.reply", brief: "invoke.reply"},
			fault{name: "validate-crashes", want: "!validate.reply"},
			fault{name: "misfit-crashes", want: "!config.refused"},
			fault{name: "invoke-crashes", want: "!invoke.reply"},
			fault{name: "garbled-killed", want: "!input.garbled"},
			fault{name: "verb-crashes", want: "!verb.unknown"},
			fault{name: "exit-code", want: "!exit.code"},
			fault{name: "no-reason", want: "!reply.fields"},
			fault{name: "huge-dies", want: "!input.huge"},
			fault{name: "garbled-ok", want: "?input.garbled"},
			fault{name: "garbled-hangs", want: "!input.garbled", brief: "input.garbled"},
			fault{name: "any-verb", want: "?verb.unknown"},
			fault{name: "lock", want: "!calls.together"},
			fault{name: "early", want: "?input.garbled !stdin.late"},
			fault{name: "ignores-term", want: "!process.term"},
			fault{name: "leaves", want: "!process.left"},
			fault{name: "latin-1", want: "!stdout.clean"},
			fault{name: "debug", want: "!stdout.clean"},
			fault{name: "preflight", want: ""},
		),
		of("mine",
			fault{name: "manifest", want: "!manifest.valid"},
			fault{name: "odd", want: "?manifest.odd"},
			fault{name: "not-executable", want: "!program.executable"},
			fault{name: "hook-hangs", want: "!hook.answers", brief: "hook.answers", only: "mine.hook"},
			fault{name: "hook-killed", want: "!hook.answers"},
			fault{name: "latin-1", want: "!hook.stdout-json ?hook.ignored"},
			fault{name: "not-json", want: "!hook.stdout-json"},
			fault{name: "status", want: "!hook.status"},
			fault{name: "context", want: "!hook.context"},
			fault{name: "context-misspelt", want: "!hook.context ?hook.ignored"},
			fault{name: "context-null", want: "!hook.context"},
			fault{name: "misspelt", want: "?hook.ignored"},
			fault{name: "hook-crashes", want: "!hook.answers"},
			fault{name: "hook-silent", want: "!hook.answers"},
			fault{name: "unsaid", want: "?error.said"},
			fault{name: "notify-fails", want: "!hook.notify"},
			fault{name: "command", want: "!command.runs"},
			fault{name: "command-crashes", want: "!command.runs"},
			fault{name: "version-crashes", want: "!version.refused"},
			fault{name: "health-killed", want: "!lifecycle.health"},
			fault{name: "garbled-killed", want: "!input.garbled"},
			fault{name: "health", want: "!lifecycle.health"},
			fault{name: "init-hangs", want: "!lifecycle.brief", brief: "lifecycle.brief"},
			fault{name: "any-version", want: "?version.refused"},
			fault{name: "unknown-hangs", want: "!type.unknown", brief: "type.unknown"},
			fault{name: "garbled-ok", want: "?input.garbled"},
			fault{name: "garbled-hangs", want: "!input.garbled", brief: "input.garbled"},
			fault{name: "huge-dies", want: "!input.huge"},
			fault{name: "lock", want: "!calls.together"},
			fault{name: "early", want: "!stdin.late !lifecycle.health"},
			fault{name: "leaves", want: "!process.left"},
			fault{name: "file", want: "!sandbox.denied"},
		),
		pythonFaults(),
	)
}

// scaffoldClaims are faults that break a part of a rule whose other parts have faults above.
var scaffoldClaims = []fault{
	{name: "arguments", want: "!hook.fields"},
	{name: "success", want: "!hook.fields"},
	{name: "tool-no-success", want: "?tool.answers"},
	{name: "tool-name", want: "?handshake.tools"},
	{name: "tool-required", want: "?handshake.tools"},
	{name: "shutdown-error", want: "!shutdown.answer"},
	{name: "shutdown-empty", want: "?shutdown.answer"},
	{name: "no-id", want: "!rpc.envelope"},
	{name: "mute", want: "!method.unknown", brief: "method.unknown"}, // other checks must not depend on the answer
}

// TestScaffoldClaims: plugin test checks all that the rules of scaffold say.
func TestScaffoldClaims(t *testing.T) {
	for _, f := range scaffoldClaims {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			f.dialect = "scaffold"
			f.test(t)
		})
	}
}

// tried returns the faults to plant: one for each check, or all of them in a long test. Faults that
// end in a timeout take the longest. They are used only if no other fault shows that the check can
// fail.
func tried() []fault {
	if soak.Long() {
		return faults()
	}
	var out []fault
	caught := make(map[string]bool)
	for _, waits := range []bool{false, true} {
		for _, f := range faults() {
			if (f.brief != "") == waits && f.want != "" && !caughtAll(caught, f) {
				out = append(out, f)
			}
		}
	}
	return out
}

// caughtAll reports whether every check that catches the fault has caught another fault before. It
// also marks these checks as having caught one.
func caughtAll(caught map[string]bool, f fault) bool {
	known := true
	for _, id := range strings.Fields(f.want) {
		id = f.dialect + "." + id[1:]
		known, caught[id] = known && caught[id], true
	}
	return known
}

// TestPlantedFaults: each plugin with a fault fails for that reason, and for no other.
func TestPlantedFaults(t *testing.T) {
	for _, f := range tried() {
		t.Run(f.dialect+"/"+f.name, func(t *testing.T) {
			t.Parallel()
			f.test(t)
		})
	}
	for _, d := range Dialects() {
		if d == "python" {
			continue
		}
		t.Run(d+"/fine", func(t *testing.T) {
			t.Parallel()
			(&fault{dialect: d, name: "fine"}).test(t)
		})
	}
}

// TestOneCheckAlone checks that each check has the same result alone as in a whole run. If a check
// uses what another one reads, the other one must be made too.
func TestOneCheckAlone(t *testing.T) {
	for _, d := range []string{"dotagent", "scaffold"} { // their checks read one another's findings
		t.Run(d, func(t *testing.T) {
			t.Parallel()
			target := install(t, d, "fine")
			run := func(only ...string) []Result {
				o := Options{Environ: os.Environ(), Only: only, Log: testLog(t), within: func(string, time.Duration) time.Duration { return mostTime }}
				report, err := Run(t.Context(), target, o)
				if err != nil {
					t.Fatal(err)
				}
				return report.Checks
			}
			sums := make(map[string]bool) // these make a whole run, also alone
			for _, c := range Checks(d) {
				sums[c.ID] = c.sums
			}
			for _, c := range run() {
				if sums[c.ID] {
					continue
				}
				if alone := run(c.ID); len(alone) != 1 || alone[0].Status != c.Status {
					t.Errorf("%s: %s %q in a whole run, and %+v alone", c.ID, c.Status, c.Message, alone)
				}
			}
		})
	}
}

// TestNothingIsWrittenBetweenPieces: while a request comes in pieces, a plugin may ask the host
// something. It gets the answer after the request.
func TestNothingIsWrittenBetweenPieces(t *testing.T) {
	t.Parallel()
	f := fault{dialect: "kaged", name: "asks-in-pieces", only: "kaged.input.pieces"}
	f.test(t)
}

func (f *fault) test(t *testing.T) {
	if f.dialect == "python" {
		plugtest.NeedTool(t, "python3")
	}
	if strings.Contains(f.want, "process.left") {
		needLinux(t)
	}
	if strings.Contains(f.want, "sandbox.denied") {
		needSandbox(t)
	}
	boxed := f.name == "fine" || strings.Contains(f.want, "sandbox.denied") // a sandbox costs more than the rest
	o := Options{Environ: os.Environ(), Bare: !boxed || noSandbox(t), within: f.within, Log: testLog(t)}
	if f.name == "no-python" {
		o.Environ = []string{"PATH=" + t.TempDir()}
	}
	if f.only != "" {
		o.Only = []string{f.only}
	}
	report, err := Run(t.Context(), install(t, f.dialect, f.name), o)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Fields(f.want)
	for i, id := range want {
		want[i] = id[:1] + f.dialect + "." + id[1:]
	}
	var got []string
	for _, c := range report.Checks {
		switch c.Status {
		case Fail:
			got = append(got, "!"+c.ID)
		case Warn:
			got = append(got, "?"+c.ID)
		}
	}
	if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		t.Errorf("got %v, want %v", got, want)
		for _, c := range report.Checks {
			t.Logf("%-5s %s  %s", c.Status, c.ID, c.Message)
		}
	}
	if report.OK == strings.Contains(f.want, "!") {
		t.Errorf("ok is %v", report.OK)
	}
	for _, c := range report.Checks {
		if (c.Status == Fail || c.Status == Warn) && (c.Message == "" || c.Fix == "" || c.Spec == "") {
			t.Errorf("a text of %s is missing: %+v", c.ID, c)
		}
	}
}

// within shortens the time of the check that ends in a timeout. The other checks keep their time,
// so that they do not fail because of the clock.
func (f *fault) within(check string, usual time.Duration) time.Duration {
	if _, id, _ := strings.Cut(check, "."); slices.Contains(strings.Fields(f.brief), id) {
		return min(usual, 500*time.Millisecond)
	}
	return mostTime
}

// install writes a plugin with a fault.
func install(t *testing.T, name, fault string) Target {
	t.Helper()
	dir := t.TempDir()
	path := dir
	program := map[string]string{"scaffold": "scaffold-", "kaged": "kaged-", "mcp": "mcp-", "dotagent": "dotagent-plugin-", "mine": "mine-plugin-"}[name] + fault
	switch name {
	case "kaged":
		path = filepath.Join(dir, "fake")
		write(t, filepath.Join(path, "manifest.yaml"), kagedFake(fault), 0o644)
	case "mine":
		path = filepath.Join(dir, fault)
		write(t, filepath.Join(path, "mine-plugin.toml"), mineFake(fault), 0o644)
	case "python":
		path = filepath.Join(dir, "fake.py")
		write(t, path, pythonFake(fault), 0o644)
	}
	write(t, filepath.Join(dir, "secret"), "a secret", 0o644)
	file := filepath.Join(path, program)
	switch {
	case name == "python":
	case fault == "not-executable":
		write(t, file, "#!/bin/sh\n", 0o644)
	case fault == "no-interpreter":
		write(t, file, "#!/usr/bin/env no-such-interpreter\n", 0o755)
	default:
		plugtest.InstallSelf(t, file)
	}
	if name == "mcp" {
		return Server("fake", []string{file}, nil, dir)
	}
	if name == "scaffold" || name == "dotagent" {
		path = file
	}
	if fault == "misnamed" {
		other := filepath.Join(dir, "misnamed")
		write(t, other, "#!/bin/sh\nexec "+file+" \"$@\"\n", 0o755)
		return Target{Dialect: name, Name: "misnamed", Path: other}
	}
	target, err := At(path, name, dialect.Env{Vars: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	return target
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// TestEveryCheckCanFail: there is a planted fault for each check, also among the few that a short
// test plants.
func TestEveryCheckCanFail(t *testing.T) {
	caught := make(map[string]bool)
	for _, f := range tried() {
		for _, id := range strings.Fields(f.want) {
			caught[f.dialect+"."+id[1:]] = true
		}
	}
	for _, d := range Dialects() {
		for _, c := range Checks(d) {
			if !caught[c.ID] {
				t.Errorf("no planted fault is caught by %s", c.ID)
			}
			delete(caught, c.ID)
		}
	}
	if len(caught) > 0 {
		t.Errorf("faults name checks that do not exist: %v", slices.Sorted(maps.Keys(caught)))
	}
	if n := len(tried()); n < 30 {
		t.Error(fmt.Sprint("only ", n, " faults"))
	}
}
