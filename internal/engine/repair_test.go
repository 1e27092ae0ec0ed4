package engine

import (
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/engine/blocks"
	"github.com/patchbay-dev/patchbay/internal/plugtest/soak"
)

// TestRepair damages a block of a stopped engine. A check reports it and changes nothing; a repair
// recovers and acknowledges.
func TestRepair(t *testing.T) {
	for i, h := range harms() {
		for j, k := range keptKinds() {
			if !soak.Pair(i+1, j, 2) { // the other kind than in TestDamagedBlock
				continue
			}
			t.Run(k.name+" "+h.name, func(t *testing.T) {
				dir := t.TempDir()
				fill(t, dir, k)
				lost, _ := h.do(t, blockPath(dir, k.stream, 1))
				for range 2 { // a check changes nothing, so a second one finds the same
					wantCheck(t, dir, wrote-len(lost), len(lost))
				}
				r, err := Repair(t.Context(), dir, slog.New(slog.DiscardHandler))
				if err != nil {
					t.Fatal(err)
				}
				if r.Found == nil || len(r.Acknowledged) != 1 || r.Read.Messages != wrote-len(lost) {
					t.Errorf("repair: %+v, %+v", r, r.Read)
				}
				if c, err := Check(dir, false, slog.New(slog.DiscardHandler)); err != nil || !c.OK() {
					t.Errorf("a check after the repair: %+v, %v", c, err)
				}
				e := open(t, Options{Dir: dir})
				wantMessages(t, k.read(t, e), lost)
				if reports, err := e.Damage(); err != nil || len(reports) != 0 {
					t.Errorf("after the repair: %+v, %v", reports, err)
				}
			})
		}
	}
}

func wantCheck(t *testing.T, dir string, whole, lost int) {
	t.Helper()
	c, err := Check(dir, false, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if c.OK() || len(c.Read.Findings) != 1 || c.Read.Messages != whole || c.Read.Findings[0].Lost != lost {
		t.Errorf("check: %+v; want %d whole, %d lost", c.Read, whole, lost)
	}
}

// TestRepairAcknowledges checks that a repair acknowledges the reports of an engine's start.
func TestRepairAcknowledges(t *testing.T) {
	k := keptKinds()[0]
	dir := t.TempDir()
	fill(t, dir, k)
	lost, _ := flipAt(10).do(t, blockPath(dir, k.stream, 1))
	e := open(t, Options{Dir: dir})

	if c, err := Check(dir, false, slog.New(slog.DiscardHandler)); err != nil || c.Running == 0 || len(c.Reports) != 1 || c.OK() {
		t.Errorf("a check while the engine runs: %+v, %v", c, err)
	}
	_, err := Repair(t.Context(), dir, slog.New(slog.DiscardHandler))
	if used, ok := errors.AsType[*InUseError](err); !ok || used.PID == 0 {
		t.Errorf("a repair while the engine runs: %v", err)
	}
	closeEngine(t, e)

	r, err := Repair(t.Context(), dir, slog.New(slog.DiscardHandler))
	if err != nil || r.Found != nil || len(r.Acknowledged) != 1 || r.Read.Messages != wrote-len(lost) {
		t.Errorf("repair: %+v, %v", r, err)
	}
	e = open(t, Options{Dir: dir})
	if reports, err := e.Damage(); err != nil || len(reports) != 0 {
		t.Errorf("after the repair: %+v, %v", reports, err)
	}
}

// TestDamagedReport: a report that cannot be read does not keep an engine from starting. It is
// listed until a repair acknowledges it.
func TestDamagedReport(t *testing.T) {
	k := keptKinds()[0]
	dir := t.TempDir()
	fill(t, dir, k)
	lost, _ := flipAt(50).do(t, blockPath(dir, k.stream, 1))
	closeEngine(t, open(t, Options{Dir: dir}))
	reports, err := blocks.Unacknowledged(dir)
	if err != nil || len(reports) != 1 {
		t.Fatalf("reports: %+v, %v", reports, err)
	}
	writeFile(t, filepath.Join(reports[0].Dir, "report.json"), []byte(`{"findings":[{"stream":7`))

	e := open(t, Options{Dir: dir})
	wantMessages(t, k.read(t, e), lost)
	if reports, err := e.Damage(); err != nil || len(reports) != 1 {
		t.Errorf("reports: %+v, %v", reports, err)
	}
	closeEngine(t, e)
	if r, err := Repair(t.Context(), dir, slog.New(slog.DiscardHandler)); err != nil || len(r.Acknowledged) != 1 {
		t.Errorf("repair: %+v, %v", r, err)
	}
	if reports, err := blocks.Unacknowledged(dir); err != nil || len(reports) != 0 {
		t.Errorf("after the repair: %+v, %v", reports, err)
	}
}

// TestDoubledBlock: if a block contains its bytes twice, every message counts once, as for the
// server. So the store can be repaired, and a backup of it can be restored.
func TestDoubledBlock(t *testing.T) {
	k := keptKinds()[0]
	dir := t.TempDir()
	fill(t, dir, k)
	path := blockPath(dir, k.stream, 1)
	data := readFile(t, path)
	writeFile(t, path, slices.Concat(data, data))
	log := slog.New(slog.DiscardHandler)
	if c, err := Check(dir, false, log); err != nil || c.Read.Messages != wrote {
		t.Errorf("check: %+v, %v", c.Read, err)
	}
	backup := filepath.Join(t.TempDir(), "b")
	if _, err := Backup(t.Context(), dir, backup); err != nil {
		t.Fatal(err)
	}
	if _, err := Repair(t.Context(), dir, log); err != nil {
		t.Error(err)
	}
	if _, err := Restore(t.Context(), dir, backup, log); err != nil {
		t.Error(err)
	}
	e := open(t, Options{Dir: dir})
	wantMessages(t, k.read(t, e), nil)
}
