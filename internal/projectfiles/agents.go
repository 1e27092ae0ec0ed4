package projectfiles

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// MostAgents limits how many bytes of AGENTS.md are part of the prompt.
const MostAgents = 32 << 10

// Agents is a project's AGENTS.md. The zero value is a project without one.
type Agents struct {
	Path string // "": there is none
	Text string // at most [MostAgents] bytes, without invisible characters
	Size int64  // of the whole file
	Cut  bool   // the text is only the beginning of the file
	Err  error  // why it is not used
}

// Agents reads AGENTS.md in the root of a project.
func (s Store) Agents(root string) Agents {
	if filepath.Dir(root) == root {
		return Agents{}
	}
	a := Agents{Path: filepath.Join(root, AgentsFile)}
	if _, err := os.Lstat(a.Path); err != nil { // there is none, or we may not see it
		return Agents{}
	}
	r, err := s.reading(root)
	if err == nil {
		defer r.root.Close()
		err = a.read(r)
	}
	if errors.Is(err, fs.ErrPermission) {
		return Agents{}
	}
	a.Err = err
	return a
}

func (a *Agents) read(r *reading) error {
	f, info, err := r.open(AgentsFile)
	if err != nil {
		return err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MostAgents+1))
	if err != nil {
		return err
	}
	a.Size = info.Size()
	if a.Cut = len(data) > MostAgents; a.Cut {
		data = wholeLines(data[:MostAgents])
	}
	if !isText(data) {
		return errNoText
	}
	a.Text = strings.TrimSpace(plain(string(data)))
	return nil
}

// wholeLines returns a text without its last line, which may be incomplete. If there is only one
// line, it removes an incomplete last character.
func wholeLines(data []byte) []byte {
	if i := strings.LastIndexByte(string(data), '\n'); i > 0 {
		return data[:i]
	}
	for range utf8.UTFMax - 1 {
		if r, size := utf8.DecodeLastRune(data); r != utf8.RuneError || size != 1 {
			break
		}
		data = data[:len(data)-1]
	}
	return data
}

// Prompt returns the text for the model, or "" if there is none.
func (a Agents) Prompt() string {
	if a.Text == "" {
		return ""
	}
	text := "The project has its own instructions, in " + a.Path + ". Follow them unless the user says otherwise:\n\n" + a.Text
	if a.Cut {
		text += fmt.Sprintf("\n\n[%s is cut here: it has %d bytes, of which at most the first %d are shown. Read the file for the rest.]", AgentsFile, a.Size, MostAgents)
	}
	return text
}

// Banner names the file in one line, or returns "" if there is none.
func (a Agents) Banner() string {
	switch {
	case a.Err != nil:
		return AgentsFile + " is left out: " + strings.TrimPrefix(a.Err.Error(), AgentsFile+": ")
	case a.Text == "":
		return ""
	case a.Cut:
		return fmt.Sprintf("%s (at most the first %d KiB of %d)", AgentsFile, MostAgents>>10, (a.Size+1023)>>10)
	}
	return AgentsFile
}
