package blocks

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/internal/atomicfile"
)

const (
	asideDir   = "damaged" // below the data directory
	reportFile = "report.json"
	// stampLayout is the name of a report's directory: the time of the report, in UTC.
	stampLayout = "2006-01-02T15-04-05.000000000Z"
)

// A Report lists what was found at one time. It has its own directory, with copies of the blocks.
type Report struct {
	Dir      string    `json:"dir"`
	Time     time.Time `json:"time"`
	Findings []Finding `json:"findings"`

	// Running is set if a server was running when the findings were made. Pending is set until the
	// messages that this server cut off are put back.
	Running bool `json:"running,omitempty"`
	Pending bool `json:"pending,omitempty"`

	// Acknowledged is when a user acknowledged the report with `patchbay engine repair`; zero: not
	// yet.
	Acknowledged time.Time `json:"settled,omitzero"`
}

// Totals adds up the findings.
func (r Report) Totals() (whole, lost, back int) {
	for _, f := range r.Findings {
		whole, lost, back = whole+f.Whole, lost+f.Lost, back+f.Back
	}
	return whole, lost, back
}

// complete updates the report of a block that was copied while the server ran. It sets the counts
// of the next start, which knows the whole stream.
func (r *Report) complete(f *Finding) error {
	for i := range r.Findings {
		if old := &r.Findings[i]; old.Stream == f.Stream && old.Block == f.Block {
			f.Kept = old.Kept
			*old = *f
		}
	}
	return r.write()
}

// newReport creates the directory of a report.
func newReport(dir string, now time.Time) (*Report, error) {
	at := now.UTC()
	for range 100 {
		r := &Report{Time: at, Dir: filepath.Join(dir, asideDir, at.Format(stampLayout))}
		if err := os.MkdirAll(filepath.Dir(r.Dir), 0o700); err != nil {
			return nil, err
		}
		err := os.Mkdir(r.Dir, 0o700)
		if err == nil {
			return r, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		at = at.Add(1)
	}
	return nil, fmt.Errorf("%s: no name is free", filepath.Join(dir, asideDir))
}

// write stores the report beside the copies, and syncs it.
func (r *Report) write() error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(r.Dir, reportFile), append(text, '\n'), atomicfile.Options{})
}

// copyFile copies a file into the directory of the report, syncs it, and returns its path.
func (r *Report) copyFile(stream, path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	to := filepath.Join(r.Dir, stream, filepath.Base(path))
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return "", err
	}
	if err := atomicfile.Write(to, text, atomicfile.Options{}); err != nil {
		return "", err
	}
	return to, atomicfile.SyncDir(r.Dir)
}

// Reports lists the reports of a data directory, the oldest first. A directory without a report
// counts too, so that no copy is forgotten.
func Reports(dir string) ([]Report, error) {
	entries, err := entriesOf(filepath.Join(dir, asideDir))
	if err != nil {
		return nil, err
	}
	var out []Report
	for _, e := range entries {
		at, err := time.Parse(stampLayout, e.Name())
		if err != nil || !e.IsDir() {
			continue // not a report's directory
		}
		r := Report{Time: at}
		place := filepath.Join(dir, asideDir, e.Name())
		text, err := os.ReadFile(filepath.Join(place, reportFile))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s: %w", place, err)
		}
		if json.Unmarshal(text, &r) != nil {
			r = Report{Time: at}
		}
		r.Dir = place // the data directory may have moved
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b Report) int { return strings.Compare(a.Dir, b.Dir) })
	return out, nil
}

// Unacknowledged lists the reports that were not acknowledged.
func Unacknowledged(dir string) ([]Report, error) {
	all, err := Reports(dir)
	return slices.DeleteFunc(all, func(r Report) bool { return !r.Acknowledged.IsZero() }), err
}

// Acknowledge acknowledges all reports. The copies stay.
func Acknowledge(dir string, now time.Time) ([]Report, error) {
	open, err := Unacknowledged(dir)
	for i := range open {
		open[i].Acknowledged = now.UTC()
		err = errors.Join(err, open[i].write())
	}
	return open, err
}
