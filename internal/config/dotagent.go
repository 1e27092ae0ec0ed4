package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/pattern"
	"github.com/patchbay-dev/patchbay/internal/plainfile"
)

// maxEnvFile limits the size of dotagent's secrets file, which usually has a dozen lines.
const maxEnvFile = 1 << 20

// DotagentSecrets returns the path of dotagent's own secrets file, or "" without a home. If a
// secret is in this file and in secrets.toml, the value in secrets.toml counts.
func (d Dirs) DotagentSecrets() string {
	if d.Home == "" {
		return ""
	}
	return filepath.Join(d.Home, ".config", "dotagent", "secrets.env")
}

// JobSecrets returns the secrets that the notifiers of scheduled agents may name: our own, and
// those of dotagent's secrets.env whose names are not among ours. Mistakes in secrets.env are
// returned as problems, and do not affect our own secrets. No problem quotes a value.
func (d Dirs) JobSecrets(own *Secrets) (*Secrets, []Problem) {
	all := &Secrets{names: make(map[string]Secret)}
	problems := all.readEnvFile(d.DotagentSecrets())
	if own != nil {
		maps.Copy(all.names, own.names)
		all.plugins, all.source = own.plugins, own.source
	}
	return all, problems
}

func (s *Secrets) readEnvFile(path string) []Problem {
	if path == "" {
		return nil
	}
	f, err := plainfile.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return []Problem{{File: path, Message: err.Error()}}
	}
	defer f.Close()
	if bad, ok := errors.AsType[*Error](checkPrivate(f, path)); ok {
		return bad.Problems
	}
	data, err := plainfile.ReadFrom(f, maxEnvFile)
	if err != nil {
		return []Problem{{File: path, Message: err.Error()}}
	}
	return s.readEnv(path, string(data))
}

// readEnv reads KEY=VALUE lines. If a name occurs twice, the last line counts.
func (s *Secrets) readEnv(path, text string) []Problem {
	var problems []Problem
	number := 0
	for line := range strings.SplitSeq(text, "\n") {
		number++
		name, value, err := envLine(line)
		if err != nil {
			problems = append(problems, Problem{File: path, Line: number, Column: 1, Message: err.Error()})
		} else if name != "" {
			s.names[name] = NewSecret(value)
		}
	}
	return problems
}

var envName = pattern.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// envLine reads one line: `KEY=VALUE`, optionally after `export `. A value in double quotes may
// contain the escapes \n \r \t \\ \". A value in single quotes is used literally. Any other value
// is used without the spaces around it. For an empty line or a comment, name is "".
func envLine(line string) (name, value string, err error) {
	line = strings.TrimSpace(line)
	if line == "" || line[0] == '#' {
		return "", "", nil
	}
	name, value, ok := strings.Cut(strings.TrimPrefix(line, "export "), "=")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	if !ok || !envName.MatchString(name) {
		return "", "", errors.New("want NAME=VALUE (the line is not shown: it may contain a secret)")
	}
	switch value, ok = unquoteEnv(value); {
	case !ok:
		return "", "", fmt.Errorf("the value of %s has a quote that does not end", name)
	case strings.HasPrefix(value, "op://"):
		return "", "", fmt.Errorf("%s is a reference to 1Password, which is not resolved; write its value into secrets.toml", name)
	}
	return name, value, nil
}

func unquoteEnv(value string) (string, bool) {
	if value == "" || value[0] != '"' && value[0] != '\'' {
		return value, true
	}
	quote := value[:1]
	inner, ok := strings.CutSuffix(value[1:], quote)
	if !ok {
		return "", false
	}
	if quote == "'" {
		return inner, true
	}
	return strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\r`, "\r", `\t`, "\t", `\"`, `"`).Replace(inner), true
}
