package engine

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// TestDamageOnAFullDisk checks that the engine does not start if it cannot copy a damaged block,
// says why, and changes nothing.
func TestDamageOnAFullDisk(t *testing.T) {
	dir := plugtest.SmallDisk(t, "24m")
	k := keptKinds()[0]
	fill(t, dir, k)
	path := blockPath(dir, k.stream, 1)
	lost, _ := flipAt(10).do(t, path)
	harmed := readFile(t, path)
	filling := filepath.Join(dir, "filling")
	if err := os.WriteFile(filling, make([]byte, 1<<28), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk does not fill: %v", err)
	}
	_, err := Open(t.Context(), Options{Dir: dir})
	if err == nil || !strings.Contains(err.Error(), "cannot be copied") || !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("opened on a full disk: %v", err)
	}
	if !bytes.Equal(readFile(t, path), harmed) {
		t.Error("the block was changed")
	}
	if err := os.Remove(filling); err != nil {
		t.Fatal(err)
	}
	e := open(t, Options{Dir: dir})
	wantMessages(t, k.read(t, e), lost)
	if reports, err := e.Damage(); err != nil || len(reports) != 1 {
		t.Errorf("reports: %+v, %v", reports, err)
	}
	closeEngine(t, e)
}
