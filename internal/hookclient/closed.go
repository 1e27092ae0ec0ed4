package hookclient

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/atomicfile"
	"github.com/patchbay-dev/patchbay/internal/plainfile"
)

// ClosedName is the file of closed points, below the state directory.
const ClosedName = "closed-points.json"

// maxClosed limits the size of the file, which lists some dozens of plugins in some projects.
const maxClosed = 1 << 20

// closedVersion is the version of the file's format.
const closedVersion = 1

// Closed lists the plugins without which events at a point are refused. A daemon writes it for hook
// programs that cannot reach a daemon.
type Closed struct {
	Version  int                `json:"version"`
	Points   ByPoint            `json:"points"`
	Projects map[string]ByPoint `json:"projects,omitempty"` // by root; only projects whose list differs from Points
}

// ByPoint has the names of plugins, by point. A point without an entry is open.
type ByPoint map[hook.Point][]string

// ErrNoClosed is returned if no daemon has written the file yet.
var ErrNoClosed = errors.New("no daemon has written yet which points are closed")

// ReadClosed reads the file below a state directory.
func ReadClosed(state string) (*Closed, error) {
	path := filepath.Join(state, ClosedName)
	text, err := plainfile.Read(path, maxClosed)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoClosed
	}
	if err != nil {
		return nil, err
	}
	var c Closed
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if c.Version != closedVersion || c.Points == nil {
		return nil, fmt.Errorf("%s: it has another format version", path)
	}
	return &c, nil
}

// Write replaces the file as a whole. If nothing has changed, it writes nothing. If the new file
// cannot be written, for example on a full disk, the old one is removed, because it may not name a
// plugin that was added. A hook then looks into the configuration.
func (c Closed) Write(state string) error {
	c.Version = closedVersion
	if c.Points == nil {
		c.Points = ByPoint{}
	}
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	text = append(text, '\n')
	path := filepath.Join(state, ClosedName)
	if before, err := plainfile.Read(path, maxClosed); err == nil && bytes.Equal(before, text) {
		return nil
	}
	if err := os.MkdirAll(state, 0o700); err != nil {
		return err
	}
	if err := atomicfile.Write(path, text, atomicfile.Options{}); err != nil {
		if gone := os.Remove(path); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			return fmt.Errorf("%w, and the old one cannot be removed: %w", err, gone)
		}
		return err
	}
	return nil
}

// At returns the plugins without which events at one of these points are refused in a project, each
// once.
func (c *Closed) At(root string, points []hook.Point) []string {
	by, ok := c.Projects[root]
	if !ok {
		by = c.Points
	}
	var names []string
	for _, p := range points {
		for _, name := range by[p] {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}
