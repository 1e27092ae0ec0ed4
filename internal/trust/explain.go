package trust

import "os"

// A FileChange is a changed file, with both of its states.
type FileChange struct {
	Change
	Before *FileState `json:"before"` // nil: the file is new
	Now    *FileState `json:"now"`    // nil: the file was removed
	Why    string     `json:"why"`    // why Old and New are missing; "": they are there
	Diff   string     `json:"diff"`   // from Old to New; set by the code that shows the change

	Old string `json:"-"`
	New string `json:"-"`
}

// A FileState is the state of a file, before or now.
type FileState struct {
	Mode   Mode   `json:"mode"`
	SHA256 string `json:"sha256"`
	Size   *int64 `json:"size"` // nil: not known
}

// Explain lists what has changed since an entry was recorded, with the texts of before and now.
// roots holds the present files, and now is what Take returned for them.
func (b Book) Explain(e *Entry, roots []Root, now []File) ([]FileChange, error) {
	out := []FileChange{}
	changes := Compare(e.Files, now)
	if len(changes) == 0 {
		return out, nil
	}
	changed := make(map[string]bool, len(changes))
	for _, c := range changes {
		changed[c.Path] = true
	}
	found, err := b.contents(roots, func(path string) bool { return changed[path] })
	if err != nil {
		return nil, err
	}
	dir, err := os.OpenRoot(b.Texts) // without it no texts were stored
	if err != nil {
		dir = nil
	} else {
		defer dir.Close()
	}
	notes := b.notes(dir, e)
	was, is := byPath(e.Files), byPath(now)
	for _, c := range changes {
		change := FileChange{Change: c}
		if f, there := was[c.Path]; there {
			change.before(f, b.recorded(dir, notes, f))
		}
		if f, there := is[c.Path]; there {
			change.now(f, found[c.Path])
		}
		if change.Why != "" {
			change.Old, change.New = "", ""
		}
		out = append(out, change)
	}
	return out, nil
}

// SummaryOf names the first few changes.
func SummaryOf(changes []FileChange) string {
	plain := make([]Change, len(changes))
	for i, c := range changes {
		plain[i] = c.Change
	}
	return Summary(plain)
}

func byPath(files []File) map[string]File {
	m := make(map[string]File, len(files))
	for _, f := range files {
		m[f.Path] = f
	}
	return m
}

func (c *FileChange) before(f File, content Content) {
	c.Before, c.Old, c.Why = stateOf(f, content), content.Text, content.Why
}

// now adds the present file. If it is no longer the one that was hashed, its text is left out.
func (c *FileChange) now(f File, content Content) {
	c.Now, c.New = stateOf(f, content), content.Text
	switch {
	case content.Why != "":
		c.Why = content.Why
	case sum([]byte(content.Text)) != f.Sum:
		c.Why = "it was changed while it was read"
	}
}

func stateOf(f File, content Content) *FileState {
	s := &FileState{Mode: f.Mode, SHA256: f.Sum}
	if content.Size >= 0 {
		s.Size = &content.Size
	}
	return s
}
