package projectfiles

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/pattern"
	"github.com/patchbay-dev/patchbay/internal/plainfile"
)

// Limits of a project's prompts.
const (
	maxPrompts       = 200
	maxPromptEntries = 2000 // files and directories in the directory of prompts
	maxPromptBytes   = 64 << 10
)

// promptName is the pattern of names that can be typed after a slash.
var promptName = pattern.New(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)

// A Prompt is a text that a user sends by typing /NAME.
type Prompt struct {
	Name  string `json:"name"`
	Path  string `json:"path"`
	About string `json:"about"` // one line
	Text  string `json:"-"`
}

// A Problem is a file of a project that cannot be used.
type Problem struct {
	Path    string `json:"path"`
	Message string `json:"message"`
}

// Prompts lists the prompts of a project, by name. taken gets a name with its slash, and reports
// whether it is a command already. A prompt with such a name is returned as a problem.
func (s Store) Prompts(root string, taken func(name string) bool) ([]Prompt, []Problem) {
	dir := filepath.Join(root, filepath.FromSlash(PromptsDir))
	if there, err := s.ownDir(root, PromptsDir); err != nil {
		return nil, []Problem{{dir, err.Error()}}
	} else if !there {
		return nil, nil
	}
	r, err := s.reading(root)
	if err != nil {
		return nil, []Problem{{dir, err.Error()}}
	}
	defer r.root.Close()
	if anyForeign(root, filepath.Dir(dir), dir) && !r.trusted {
		return nil, []Problem{{dir, errForeign.Error()}}
	}
	names, problems := promptFiles(dir)
	var prompts []Prompt
	for _, file := range names {
		p, err := r.prompt(file, taken)
		if err != nil {
			problems = append(problems, Problem{filepath.Join(dir, file), err.Error()})
			continue
		}
		prompts = append(prompts, p)
	}
	return prompts, problems
}

// promptFiles lists the files that look like prompts, in order.
func promptFiles(dir string) ([]string, []Problem) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, []Problem{{dir, err.Error()}}
	}
	defer f.Close()
	entries, err := f.ReadDir(maxPromptEntries + 1)
	if err != nil && !errors.Is(err, io.EOF) { // EOF: the directory is empty
		return nil, []Problem{{dir, err.Error()}}
	}
	var problems []Problem
	if len(entries) > maxPromptEntries {
		entries = entries[:maxPromptEntries]
		problems = append(problems, Problem{dir, fmt.Sprintf("it has more than %d files: prompts among the others are left out", maxPromptEntries)})
	}
	var names []string
	for _, e := range entries {
		if filepath.Ext(e.Name()) == ".md" && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	if len(names) > maxPrompts {
		names = names[:maxPrompts]
		problems = append(problems, Problem{dir, fmt.Sprintf("it has more than %d prompts: the others are left out", maxPrompts)})
	}
	return names, problems
}

func (r *reading) prompt(file string, taken func(string) bool) (Prompt, error) {
	name := strings.TrimSuffix(file, ".md")
	if !promptName.MatchString(name) {
		return Prompt{}, errors.New("its name cannot be typed after a slash: use letters, digits, - and _, and begin with a letter")
	}
	if taken != nil && taken("/"+name) {
		return Prompt{}, fmt.Errorf("/%s is a command of Patchbay: rename the file", name)
	}
	f, _, err := r.open(PromptsDir + "/" + file)
	if err != nil {
		return Prompt{}, err
	}
	defer f.Close()
	data, err := plainfile.ReadFrom(f, maxPromptBytes)
	if _, large := errors.AsType[*plainfile.SizeError](err); large {
		return Prompt{}, fmt.Errorf("it has more than %d KiB", maxPromptBytes>>10)
	}
	if err != nil {
		return Prompt{}, err
	}
	if !isText(data) {
		return Prompt{}, errNoText
	}
	about, text := header(plain(string(data)))
	if text == "" {
		return Prompt{}, errors.New("it is empty")
	}
	return Prompt{Name: name, Path: filepath.Join(r.path, filepath.FromSlash(PromptsDir), file), About: about, Text: text}, nil
}

// header removes a header between lines of dashes, as other agents write it. Only its description
// is used. Without one, the first line describes the prompt.
func header(text string) (about, rest string) {
	if after, ok := strings.CutPrefix(text, "---\n"); ok {
		if head, body, ok := strings.Cut(after, "\n---\n"); ok {
			for line := range strings.Lines(head) {
				if value, ok := strings.CutPrefix(strings.TrimSpace(line), "description:"); ok {
					about = strings.Trim(strings.TrimSpace(value), `"'`)
				}
			}
			text = body
		}
	}
	rest = strings.TrimSpace(text)
	first, _, _ := strings.Cut(rest, "\n")
	return cmp.Or(about, strings.TrimSpace(strings.TrimLeft(first, "# "))), rest
}

// arguments is the placeholder in a prompt for the text after its name.
const arguments = "$ARGUMENTS"

// With returns the prompt's text with the text that was typed after its name. If the prompt has no
// placeholder, the text is added at its end. If the result begins like a command, or like a line
// for the shell, it gets a space in front, so that it is sent as a message.
func (p Prompt) With(args string) string {
	args = strings.TrimSpace(args)
	text := strings.TrimSpace(p.Text + "\n\n" + args)
	if strings.Contains(p.Text, arguments) {
		text = strings.ReplaceAll(p.Text, arguments, args)
	}
	if strings.HasPrefix(text, "!") || strings.HasPrefix(text, "/") {
		return " " + text
	}
	return text
}

// Expand returns the text of the prompt that a line such as "/review main.go" names. ok is false if
// the line names no prompt.
func Expand(prompts []Prompt, line string) (text string, ok bool) {
	name, args, _ := strings.Cut(line, " ")
	name, found := strings.CutPrefix(name, "/")
	i := slices.IndexFunc(prompts, func(p Prompt) bool { return p.Name == name })
	if !found || i < 0 {
		return "", false
	}
	return prompts[i].With(args), true
}
