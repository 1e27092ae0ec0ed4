package projectfiles

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/pattern"
	"github.com/patchbay-dev/patchbay/internal/plainfile"
)

// Bounds of a project's prompts.
const (
	mostPrompts = 200
	mostPrompt  = 64 << 10
)

// promptName is what may be typed behind a slash.
var promptName = pattern.New(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)

// A Prompt is a text that a person sends by typing /NAME.
type Prompt struct {
	Name  string `json:"name"`
	Path  string `json:"path"`
	About string `json:"about"` // one line
	Text  string `json:"-"`
}

// A Problem is a file of a project that is not used.
type Problem struct {
	Path    string `json:"path"`
	Message string `json:"message"`
}

// Prompts lists the prompts of a project, by name. taken tells of names that mean something else,
// which no prompt may take.
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
	if foreignDirs(root, filepath.Dir(dir), dir) && !r.trusted {
		return nil, []Problem{{dir, errForeign.Error()}}
	}
	names, problem := promptFiles(dir)
	var prompts []Prompt
	problems := problem
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
	entries, err := f.ReadDir(10 * mostPrompts) // an endless directory is not read to its end
	if err != nil && len(entries) == 0 {
		return nil, nil // it is empty
	}
	var names []string
	for _, e := range entries {
		if filepath.Ext(e.Name()) == ".md" && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	if len(names) > mostPrompts {
		return names[:mostPrompts], []Problem{{dir, fmt.Sprintf("it has more than %d prompts: the others are left out", mostPrompts)}}
	}
	return names, nil
}

func (r *reading) prompt(file string, taken func(string) bool) (Prompt, error) {
	name := strings.TrimSuffix(file, ".md")
	if !promptName.MatchString(name) {
		return Prompt{}, errors.New("its name cannot be typed behind a slash: letters, digits, - and _, the first a letter")
	}
	if taken != nil && taken("/"+name) {
		return Prompt{}, fmt.Errorf("/%s is a command of Patchbay's own: rename the file", name)
	}
	f, _, err := r.open(PromptsDir + "/" + file)
	if err != nil {
		return Prompt{}, err
	}
	defer f.Close()
	data, err := plainfile.ReadFrom(f, mostPrompt)
	if _, large := errors.AsType[*plainfile.SizeError](err); large {
		return Prompt{}, fmt.Errorf("it has more than %d KiB", mostPrompt>>10)
	}
	if err != nil {
		return Prompt{}, err
	}
	about, text := header(plain(string(data)))
	if text == "" {
		return Prompt{}, errors.New("it is empty")
	}
	return Prompt{Name: name, Path: filepath.Join(r.path, filepath.FromSlash(PromptsDir), file), About: about, Text: text}, nil
}

// header takes a header between lines of dashes off a text, as other agents have it, of which only
// the description counts here. Without one, the first line says what the prompt is about.
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

// arguments is what stands in a prompt for what was typed behind its name.
const arguments = "$ARGUMENTS"

// With is the prompt's text for what was typed behind its name. A prompt that has no place for it
// gets it at its end. One that begins like a command, or like a line for the shell, gets a space in
// front, which makes a message of it everywhere.
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

// Expand is the text that a line such as "/review main.go" stands for; ok is false where it names
// none of the prompts.
func Expand(prompts []Prompt, line string) (text string, ok bool) {
	name, args, _ := strings.Cut(line, " ")
	name, found := strings.CutPrefix(name, "/")
	i := slices.IndexFunc(prompts, func(p Prompt) bool { return p.Name == name })
	if !found || i < 0 {
		return "", false
	}
	return prompts[i].With(args), true
}
