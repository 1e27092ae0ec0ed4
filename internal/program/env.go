package program

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// defaultPath is where execvp searches if the environment has no PATH.
const defaultPath = "/bin:/usr/bin"

// maxSplits bounds how often one -S may lead to another.
const maxSplits = 8

// An EnvCall is the program that env starts for some arguments.
type EnvCall struct {
	Name string   // the program; empty if env starts none
	Args []string // its arguments
	Env  []string // its environment, whose PATH is searched for it
	Dir  string   // its working directory; if empty, that of env
}

// ReadEnv reads the arguments of env as GNU env does: options, -S with its quotes and escapes,
// assignments, the program. It fails if env would fail, and for unknown options.
func ReadEnv(args, env []string) (EnvCall, error) {
	r := envReader{call: EnvCall{Env: env}, host: env}
	rest, err := r.options(args)
	if err != nil {
		return EnvCall{}, fmt.Errorf("env: %w", err)
	}
	call := r.program(rest)
	if call.Name == "" && call.Args != nil {
		return EnvCall{}, errors.New("env: the name of the program is empty")
	}
	return call, nil
}

// SearchPath returns the directories that are searched for a program that is named without a slash.
func SearchPath(env []string) []string {
	for _, entry := range env {
		if value, ok := strings.CutPrefix(entry, "PATH="); ok {
			return filepath.SplitList(value)
		}
	}
	return filepath.SplitList(defaultPath)
}

// An envReader reads options. Their effect on the environment is applied after the last one, as env
// does.
type envReader struct {
	call   EnvCall
	host   []string // the environment of env itself, for ${NAME}
	empty  bool     // -i
	unset  []string // -u
	splits int
}

// options reads the options and returns the arguments after them.
func (r *envReader) options(args []string) (rest []string, err error) {
	for len(args) > 0 {
		arg := args[0]
		switch {
		case arg == "--":
			return args[1:], nil
		case arg == "-": // the old way to write -i
			r.empty = true
			return args[1:], nil
		case strings.HasPrefix(arg, "--"):
			args, err = r.long(arg[2:], args[1:])
		case strings.HasPrefix(arg, "-"):
			args, err = r.short(arg[1:], args[1:])
		default:
			return args, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// short reads a group of one-letter options and returns the arguments after it.
func (r *envReader) short(group string, rest []string) ([]string, error) {
	for i, letter := range group {
		switch letter {
		case 'i':
			r.empty = true
		case 'v', '0', ' ', '\t': // a #! line passes "-v S python3" as one argument, in which a blank follows v
		case 'u', 'C', 'S', 'a':
			value := group[i+1:]
			if value == "" && len(rest) == 0 {
				return nil, fmt.Errorf("option -%c wants a value", letter)
			}
			if value == "" {
				value, rest = rest[0], rest[1:]
			}
			return r.valued(string(letter), value, rest)
		default:
			return nil, fmt.Errorf("unknown option -%c", letter)
		}
	}
	return rest, nil
}

// longOptions are the options with two dashes, and the letter that means the same. The letter is
// empty if the option has no effect here.
var longOptions = []struct{ name, letter string }{
	{"argv0", "a"}, {"block-signal", ""}, {"chdir", "C"}, {"debug", ""}, {"default-signal", ""}, {"ignore-environment", "i"}, {"ignore-signal", ""},
	{"list-signal-handling", ""}, {"null", ""}, {"split-string", "S"}, {"unset", "u"},
}

// long reads one option with two dashes, whose name may be shortened, and returns the arguments
// after it.
func (r *envReader) long(option string, rest []string) ([]string, error) {
	name, value, given := strings.Cut(option, "=")
	var found []string
	for _, o := range longOptions {
		if o.name == name {
			found = []string{o.letter}
			break
		}
		if strings.HasPrefix(o.name, name) {
			found = append(found, o.letter)
		}
	}
	switch {
	case len(found) != 1:
		return nil, fmt.Errorf("unknown option --%s", name)
	case found[0] == "":
		return rest, nil
	case found[0] == "i":
		r.empty = true
		return rest, nil
	case !given && len(rest) == 0:
		return nil, fmt.Errorf("option --%s wants a value", name)
	case !given:
		value, rest = rest[0], rest[1:]
	}
	return r.valued(found[0], value, rest)
}

// valued applies an option that has a value.
func (r *envReader) valued(letter, value string, rest []string) ([]string, error) {
	switch letter {
	case "u":
		r.unset = append(r.unset, value)
	case "C":
		r.call.Dir = value
	case "S":
		if r.splits++; r.splits > maxSplits {
			return nil, errors.New("too many options -S")
		}
		words, err := splitString(value, r.host)
		return append(words, rest...), err
	}
	return rest, nil
}

// program applies the options and the assignments, and returns the program in the rest.
func (r *envReader) program(rest []string) EnvCall {
	c := r.call
	c.Env = slices.DeleteFunc(slices.Clone(c.Env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return r.empty || slices.Contains(r.unset, name)
	})
	for len(rest) > 0 && strings.Contains(rest[0], "=") {
		c.Env = append([]string{rest[0]}, c.Env...) // the first entry counts
		rest = rest[1:]
	}
	if len(rest) > 0 {
		c.Name, c.Args = rest[0], rest[1:]
	}
	return c
}
