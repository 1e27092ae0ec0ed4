package pluginlog

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/dialect"
)

func newLog(t *testing.T) (*Store, *slog.Logger, *strings.Builder) {
	t.Helper()
	s := &Store{Dir: filepath.Join(t.TempDir(), "plugins"), Clean: strings.NewReplacer("hush-hush", "[secret]").Replace}
	var passed strings.Builder
	next := slog.NewTextHandler(&passed, &slog.HandlerOptions{Level: slog.LevelWarn})
	return s, slog.New(s.Tee(next)), &passed
}

// TestKept: records about a plugin, of level info and above, are stored without secrets. The next
// handler gets only the records that it wants.
func TestKept(t *testing.T) {
	s, log, passed := newLog(t)
	about := log.With("plugin", "shout", "dialect", "scaffold")
	dialect.LogStderr(about, slog.LevelInfo, "a token: hush-hush")
	about.Warn("it is odd", "err", "why", dialect.FindingKey, true, dialect.EachHookKey, true)
	dialect.LogStderr(about, slog.LevelDebug, "too quiet")
	log.Warn("about no plugin")
	lines, _, err := s.Follow("scaffold", "shout", 10)
	if err != nil || len(lines) != 2 || lines[0].Text != "a token: [secret]" || lines[0].Level != "stderr" || lines[1].Text != "it is odd (err: why)" || lines[1].Level != "warning" {
		t.Errorf("%+v, %v", lines, err)
	}
	if got := passed.String(); !strings.Contains(got, "about no plugin") || strings.Contains(got, "token") {
		t.Errorf("passed on: %s", got)
	}
	if info, err := os.Stat(s.File("scaffold", "shout")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if last, _, err := s.Follow("scaffold", "shout", 1); err != nil || len(last) != 1 || last[0].Level != "warning" {
		t.Errorf("%+v, %v", last, err)
	}
}

// TestNewSecrets: a line that was stored before one of its words became a secret is read without
// that word.
func TestNewSecrets(t *testing.T) {
	s := &Store{Dir: t.TempDir()}
	if err := s.appendLine("scaffold", "words", Line{Text: "the word is hush-hush"}); err != nil {
		t.Fatal(err)
	}
	s.Clean = strings.NewReplacer("hush-hush", "[secret]").Replace
	lines, _, err := s.Follow("scaffold", "words", 10)
	if err != nil || len(lines) != 1 || lines[0].Text != "the word is [secret]" {
		t.Errorf("%+v, %v", lines, err)
	}
}

// TestASecretIsNotCutInTwo: if a long line is cut within a secret, no part of the secret is stored.
func TestASecretIsNotCutInTwo(t *testing.T) {
	s := &Store{Dir: t.TempDir(), Clean: strings.NewReplacer("hush-hush", "[secret]").Replace}
	if err := s.appendLine("scaffold", "words", Line{Text: strings.Repeat("x", maxLine-4) + "hush-hush"}); err != nil {
		t.Fatal(err)
	}
	lines, _, err := s.Follow("scaffold", "words", 10)
	if err != nil || len(lines) != 1 || strings.Contains(lines[0].Text, "hush") {
		t.Errorf("%d lines, %v: a part of the secret is stored", len(lines), err)
	}
}

// TestLogsStayInTheStore: whatever a plugin calls itself, its log is in the store, and another name
// has another file.
func TestLogsStayInTheStore(t *testing.T) {
	s, _, _ := newLog(t)
	seen := make(map[string]bool)
	for _, name := range []string{"../../x", "x", "X/y", "", ".", "..", "a\x00b", "%2e", "a%2fb", strings.Repeat("n", 300)} {
		file := s.File("kaged", name)
		if rel, err := filepath.Rel(s.Dir, file); err != nil || !filepath.IsLocal(rel) || seen[file] || filepath.Dir(rel) != "kaged" {
			t.Errorf("%q is kept in %s", name, file)
		}
		seen[file] = true
	}
}

// TestBounded: also with several writers, a log has at most two files, none of them is too large,
// and the newest lines are kept.
func TestBounded(t *testing.T) {
	s, _, _ := newLog(t)
	var all sync.WaitGroup
	for range 4 {
		other := &Store{Dir: s.Dir} // another process
		all.Go(func() {
			for range 200 {
				if err := other.appendLine("mine", "flood", Line{Time: time.Now(), Level: "stderr", Text: strings.Repeat("x", 5000)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	files, err := filepath.Glob(filepath.Dir(s.File("mine", "x")) + "/flood*")
	if err != nil || len(files) != 2 {
		t.Errorf("%q, %v", files, err)
	}
	for _, f := range files {
		if info, err := os.Stat(f); err != nil || info.Size() > maxFile+8*maxLine {
			t.Errorf("%s: %v, %v", f, info.Size(), err)
		}
	}
	lines, _, err := s.Follow("mine", "flood", 1_000_000)
	if err != nil || len(lines) < 150 {
		t.Errorf("%d lines, %v", len(lines), err)
	}
}

// TestFollow: lines come in their order, also when a new file was begun meanwhile.
func TestFollow(t *testing.T) {
	s, _, _ := newLog(t)
	before, f, err := s.Follow("mine", "tags", 10)
	if err != nil || len(before) != 0 {
		t.Fatal(before, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	say := func(text string) {
		t.Helper()
		if err := s.appendLine("mine", "tags", Line{Time: time.Now(), Level: "stderr", Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	say("one")
	if lines, err := f.Next(ctx); err != nil || len(lines) != 1 || lines[0].Text != "one" {
		t.Fatal(lines, err)
	}
	say("two")
	if err := os.Rename(s.File("mine", "tags"), rotatedPath(s.File("mine", "tags"))); err != nil {
		t.Fatal(err)
	}
	say("three")
	if lines, err := f.Next(ctx); err != nil || len(lines) != 2 || lines[0].Text != "two" || lines[1].Text != "three" {
		t.Fatal(lines, err)
	}
	cancel()
	if _, err := f.Next(ctx); err == nil {
		t.Error("Next does not end with its context")
	}
}
