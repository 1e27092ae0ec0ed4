package plugtest

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/proc"
)

// Transcripts plays the transcripts of a dialect. The host is real. The plugin is the test binary,
// which writes what the transcript says and reports every byte that differs from it.
type Transcripts struct {
	Dialect dialect.Dialect
	// Dir returns where the files of a plugin of that name go, below the home.
	Dir func(name string) string
	// Program returns the name of its program there; nil: the files are the plugin.
	Program func(name string) string
	// Health checks the health of a plugin as the host does; nil: the dialect has no health checks.
	Health func(ctx context.Context, p dialect.Plugin) string
	// Storage is the storage of the plugins; may be nil.
	Storage func() dialect.Storage
}

// Run plays all transcripts. There must be one for each point of the dialect.
func (s *Transcripts) Run(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("testdata", "transcripts", "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no transcripts (%v)", err)
	}
	var everything strings.Builder
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(path), ".txtar")
		everything.Write(txtar.Format(archive))
		t.Run(name, func(t *testing.T) { s.play(t, name, archive) })
	}
	for _, point := range s.Dialect.Points() {
		if !strings.Contains(everything.String(), "\nfire "+string(point)+" ") {
			t.Errorf("no transcript fires %s", point)
		}
	}
}

// A transcriptHost plays the host of one transcript.
type transcriptHost struct {
	*Transcripts
	*testing.T
	home    string
	log     *Log
	rt      *dialect.Runtime
	config  json.RawMessage
	plugins []dialect.Plugin
	heard   int // how many log lines the transcript has used so far
}

func (s *Transcripts) play(t *testing.T, name string, archive *txtar.Archive) {
	home := t.TempDir()
	w := &transcriptHost{Transcripts: s, T: t, home: home, log: &Log{}}
	logger := slog.New(slog.NewJSONHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	w.rt = newRuntime(home, w.log)
	w.rt.Log, w.rt.Procs = logger, proc.NewGroup(logger)
	if s.Storage != nil {
		w.rt.Storage = s.Storage()
	}
	acts, err := parseActs(w.install(name, archive))
	if err != nil {
		t.Fatal(err)
	}
	defer w.end()
	for i := range acts {
		w.runAct(&acts[i])
	}
}

// install writes the plugin and its talk to their places, and returns the talk.
func (w *transcriptHost) install(name string, archive *txtar.Archive) (talk string) {
	w.Helper()
	dir := filepath.Join(w.home, w.Dir(name))
	for _, f := range archive.Files {
		text := strings.ReplaceAll(string(f.Data), "$HOME", w.home)
		switch f.Name {
		case "config":
			w.config = json.RawMessage(text)
		case talkFile:
			talk = numbered(archive, text)
			w.put(filepath.Join(w.home, playing, talkFile), talk)
		default:
			w.put(filepath.Join(dir, f.Name), text)
		}
	}
	if w.Program != nil {
		w.must(os.MkdirAll(dir, 0o755))
		InstallSelf(w, filepath.Join(dir, w.Program(name)))
	}
	return talk
}

// numbered puts empty lines before a talk, which comes last in its file, so that its lines have the
// same numbers as in the file.
func numbered(archive *txtar.Archive, talk string) string {
	before := txtar.Archive{Comment: archive.Comment, Files: archive.Files[:len(archive.Files)-1]}
	return strings.Repeat("\n", bytes.Count(txtar.Format(&before), []byte("\n"))+1) + talk
}

func (w *transcriptHost) put(path, text string) {
	w.Helper()
	w.must(os.MkdirAll(filepath.Dir(path), 0o755))
	w.must(os.WriteFile(path, []byte(text), 0o644))
}

func (w *transcriptHost) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// runAct does one act, and checks that everything in the transcript happened, and nothing else.
func (w *transcriptHost) runAct(a *act) {
	w.Helper()
	w.put(filepath.Join(w.home, playing, untilFile), strconv.Itoa(a.last()))
	got := w.do(a.text)
	w.noFault()
	if !slices.EqualFunc(a.results, got, matches) {
		w.Fatalf("line %d: %s: got\n= %s\nthe transcript has\n= %s", a.number, a.text, strings.Join(got, "\n= "), strings.Join(a.results, "\n= "))
	}
	w.await(a)
}

// patience is how long another process may take on a busy machine.
const patience = 30 * time.Second

// await waits until the plugin has played its part in an act, and the log has its stderr.
func (w *transcriptHost) await(a *act) {
	w.Helper()
	deadline := time.Now().Add(patience)
	for time.Now().Before(deadline) {
		w.noFault()
		lines := w.logged()
		if len(lines)-w.heard >= len(a.stderr) && w.unplayed(a) == nil {
			if got := lines[w.heard : w.heard+len(a.stderr)]; !slices.EqualFunc(a.stderr, got, matches) {
				w.Errorf("line %d: the log has %q, the transcript %q", a.number, got, a.stderr)
			}
			w.heard += len(a.stderr)
			return
		}
		time.Sleep(5 * time.Millisecond) // between two checks; the loop is limited
	}
	w.Fatalf("line %d: %s: timed out waiting for %v and for %q in the log, which has %q", a.number, a.text, w.unplayed(a), a.stderr, w.logged()[w.heard:])
}

// noFault ends the test if the plugin got something other than the transcript says.
func (w *transcriptHost) noFault() {
	w.Helper()
	if fault := w.read(faultFile); fault != "" {
		w.Fatal(fault)
	}
}

// unplayed returns the lines of an act that were not played.
func (w *transcriptHost) unplayed(a *act) []line {
	if w.Program == nil {
		return nil // the log has what a plugin writes
	}
	played := make(map[string]bool)
	for number := range strings.Lines(w.read(playedFile)) {
		played[strings.TrimSpace(number)] = true
	}
	var left []line
	for _, l := range a.traffic {
		if !played[strconv.Itoa(l.number)] {
			left = append(left, l)
		}
	}
	return left
}

func (w *transcriptHost) read(name string) string {
	w.Helper()
	data, err := os.ReadFile(filepath.Join(w.home, playing, name))
	if err != nil && !os.IsNotExist(err) {
		w.Fatal(err)
	}
	return string(data)
}

// logged returns the lines that plugins wrote to stderr. It finds them in the host's log.
func (w *transcriptHost) logged() []string {
	w.Helper()
	var lines []string
	for text := range strings.Lines(w.log.String()) {
		var record struct{ Msg, Line string }
		w.must(json.Unmarshal([]byte(text), &record))
		if record.Msg == "stderr" { // as every dialect logs it
			lines = append(lines, record.Line)
		}
	}
	return lines
}

// end checks that no process is left, and that nothing happened that is not in the transcript.
func (w *transcriptHost) end() {
	for _, p := range w.plugins {
		if err := p.Close(context.Background()); err != nil {
			w.Errorf("close %s: %v", p.Info().Name, err)
		}
	}
	if err := w.rt.Procs.Close(); err != nil {
		w.Errorf("close: %v", err)
	}
	if fault := w.read(faultFile); fault != "" {
		w.Error(fault)
	}
	if left := w.logged()[w.heard:]; len(left) > 0 {
		w.Errorf("the plugin wrote more than is in the transcript: %q", left)
	}
	if w.Failed() {
		w.Logf("log:\n%s", w.log)
	}
}

// hooks returns the hooks of the plugins, as a host wires them.
func (w *transcriptHost) hooks() []hook.Hook {
	var hooks []hook.Hook
	for i, p := range w.plugins {
		for _, h := range p.Hooks() {
			h.Plugin, h.Dialect, h.Position, h.Priority = p.Info().Name, w.Dialect.Name(), i, p.Info().Priority
			h.Timeout = patience
			hooks = append(hooks, h)
		}
	}
	return hooks
}

// hostCan lists what a transcript can make the host do, by its first word. Each function returns
// its results, one a line.
var hostCan = map[string]func(w *transcriptHost, rest string) []string{
	"open":          (*transcriptHost).open,
	"fire":          (*transcriptHost).fire,
	"tool":          (*transcriptHost).tool,
	"method":        (*transcriptHost).method,
	"notifications": (*transcriptHost).notifications,
	"command":       (*transcriptHost).command,
	"health":        (*transcriptHost).health,
	"close":         (*transcriptHost).close,
}

func (w *transcriptHost) do(text string) []string {
	w.Helper()
	verb, rest, _ := strings.Cut(text, " ")
	run, ok := hostCan[verb]
	if !ok {
		w.Fatalf("unknown act %q: it must begin with one of %q", text, slices.Sorted(maps.Keys(hostCan)))
	}
	return run(w, rest)
}
