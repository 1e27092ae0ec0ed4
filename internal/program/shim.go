package program

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/internal/pattern"
)

const (
	// maxShim is the largest size of a shim. Shims have a dozen lines.
	maxShim = 4 << 10

	// whichTimeout bounds the run of the tool. It takes a tenth of a second.
	whichTimeout = 5 * time.Second
)

// The two lines of a shim that matter, the same in pyenv and all similar tools:
//
//	export PYENV_ROOT="/home/me/.pyenv"
//	exec "/home/me/.pyenv/libexec/pyenv" exec "$program" "$@"
var (
	shimRoot = pattern.New(`(?m)^export ([A-Z]+ENV)_ROOT=["']?(/[^"'\n]+?)["']?$`)
	shimExec = pattern.New(`(?m)^exec "?(/[^"\n]+/([a-z]+env))"? exec "\$program" "\$@"$`)
)

// versionFile returns the name of the file by which a tool chooses a version. It is searched from
// the working directory upwards.
func versionFile(tool string) string {
	switch tool {
	case "pyenv":
		return ".python-version"
	case "rbenv":
		return ".ruby-version"
	case "nodenv":
		return ".node-version"
	}
	return ""
}

// IsShim reports whether a file lies where pyenv and similar tools put their shims. It must be
// cheap, because it is called at each start.
func IsShim(file string) bool {
	return filepath.Base(filepath.Dir(file)) == "shims"
}

// A shimUse is one start through a shim.
type shimUse struct {
	shim string
	args []string // the arguments of the shim
	dir  string   // its working directory
	env  []string
}

// shims caches which programs shims stand for. The key contains everything on which the answer
// depends: the shim, PATH, a version named in the environment, and the version file that applies to
// the directory, with its time of change. For tools whose version files are not known here, it
// contains the directory itself.
type shims struct {
	mu    sync.Mutex // protects found
	found map[shimKey]*shimAnswer
}

type shimKey struct {
	shim, path, version, place string
	changed                    time.Time // of the version file
	global                     time.Time // of the version file that counts if there is no other
}

type shimAnswer struct {
	once sync.Once
	real string // empty if it is unclear and the shim itself must be used
}

// real returns the program that a shim stands for, or "" if that is not certain. The first caller
// runs "pyenv which"; others with the same key wait for the answer.
func (c *shims) real(ctx context.Context, ask Ask, use shimUse) string {
	tool, ok := readShim(use)
	if !ok {
		return ""
	}
	answer := c.answer(tool.key(use))
	answer.once.Do(func() { answer.real = tool.which(ctx, ask, use) })
	return answer.real
}

func (c *shims) answer(key shimKey) *shimAnswer {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.found == nil {
		c.found = make(map[shimKey]*shimAnswer)
	}
	answer := c.found[key]
	if answer == nil {
		answer = new(shimAnswer)
		c.found[key] = answer
	}
	return answer
}

// A shimTool holds the data of a shim, and where its search for a version begins.
type shimTool struct {
	path   string // /home/me/.pyenv/libexec/pyenv
	name   string // pyenv
	prefix string // PYENV
	root   string // /home/me/.pyenv
	dir    string // where the search for a version file begins
	script bool   // dir is the script's directory, which must be passed to the tool
}

// readShim reads a shim. It returns false if the file is not a shim of a known form.
func readShim(use shimUse) (shimTool, bool) {
	info, err := os.Stat(use.shim)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxShim {
		return shimTool{}, false
	}
	text, err := os.ReadFile(use.shim)
	if err != nil {
		return shimTool{}, false
	}
	root, run := shimRoot.Regexp().FindSubmatch(text), shimExec.Regexp().FindSubmatch(text)
	if root == nil || run == nil {
		return shimTool{}, false
	}
	t := shimTool{path: string(run[1]), name: string(run[2]), prefix: string(root[1]), root: string(root[2]), dir: use.dir}
	if strings.Contains(string(text), t.prefix+"_DIR=") {
		t.dir, t.script = scriptDir(use), true
	}
	if t.dir == "" {
		t.dir, err = os.Getwd()
	}
	return t, err == nil
}

// scriptDir does what the shims of rbenv and nodenv do: the search begins beside the first argument
// that is a file with a slash in its name.
func scriptDir(use shimUse) string {
	for _, arg := range use.args {
		file := arg
		if !filepath.IsAbs(file) {
			file = filepath.Join(use.dir, file)
		}
		if info, err := os.Stat(file); hasSlash(arg) && err == nil && info.Mode().IsRegular() {
			return filepath.Dir(file)
		}
	}
	return use.dir
}

// key returns the key of the cache.
func (t shimTool) key(use shimUse) shimKey {
	env := use.env
	key := shimKey{shim: use.shim, path: Getenv(env, "PATH"), version: Getenv(env, t.prefix+"_VERSION"), place: t.dir}
	if name := versionFile(t.name); name != "" {
		key.place, key.changed = nearestFile(t.dir, name)
	}
	if info, err := os.Stat(filepath.Join(t.root, "version")); err == nil {
		key.global = info.ModTime()
	}
	return key
}

// nearestFile finds the nearest file of that name from dir upwards, and when it was changed.
func nearestFile(dir, name string) (file string, changed time.Time) {
	for {
		file = filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil {
			return file, info.ModTime()
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", time.Time{}
		}
		dir = parent
	}
}

// which runs the tool. It returns "" unless the tool answers with a program that is not a shim.
func (t shimTool) which(ctx context.Context, ask Ask, use shimUse) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), whichTimeout) // other callers wait for the answer too
	defer cancel()
	env := append([]string{t.prefix + "_ROOT=" + t.root}, use.env...)
	if t.script {
		env = append([]string{t.prefix + "_DIR=" + t.dir}, env...)
	}
	stdout, err := ask(ctx, Request{Path: t.path, Args: []string{"which", filepath.Base(use.shim)}, Dir: use.dir, Env: env})
	if err != nil {
		return ""
	}
	real := strings.TrimSuffix(string(stdout), "\n")
	if !filepath.IsAbs(real) || IsShim(real) || !executable(real) {
		return ""
	}
	return real
}
