package plugindir

import (
	"bytes"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/pattern"
	"github.com/patchbay-dev/patchbay/internal/plainfile"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// file returns the plugin that a file of a directory is, if it is one.
func file(path string, e fs.DirEntry, o Options) (dialect.Found, bool) {
	if !e.Type().IsRegular() {
		return dialect.Found{}, false
	}
	for _, f := range pluginhost.AllAt(path, o.Environ, o.Dialects) {
		switch {
		case f.Dialect == dotagent, o.Sole && (f.Dialect == python || f.Dialect == scaffold):
			return f, true
		case f.Dialect == python && isPython(path):
			return f, true
		case f.Dialect == scaffold && (namesake(path, o) || isProgram(path)):
			return f, true
		}
	}
	return dialect.Found{}, false
}

var pythonHook = pattern.New(`(?m)^\s*@(?:\w+\.)?on_(?:begin|tool_call|resolve_tool|tool_result|final|done)\b|^__plugin__\s*=`)

// isPython reports whether a Python file is a plugin, and not other code.
func isPython(path string) bool {
	name := filepath.Base(path)
	if strings.HasPrefix(name, "_") || tests.MatchString(name) {
		return false
	}
	text, err := plainfile.Read(path, 4<<20)
	return err == nil && pythonHook.Regexp().Match(text)
}

// namesake reports whether a program has the name of its directory. Then it is a plugin, even if
// its name is dev-tools.
func namesake(path string, o Options) bool {
	return filepath.Base(path) == filepath.Base(o.Called) && dialect.Executable(path)
}

// tests matches files that test a plugin, tools matches programs that come with sources. Neither
// are plugins.
var (
	tests = pattern.New(`^(?i)(test([._-].*)?|.*[._-]test(\.[a-z]+)?)$`)
	tools = pattern.New(`^(?i)(install|uninstall|setup|build|make|makefile|configure|run-?tests?|bootstrap|release|gradlew|mvnw|ci|lint|bench|dev)([._-].*)?$`)
)

// isTestOrTool reports whether the name of a file is that of a test or a tool beside a plugin.
func isTestOrTool(name string) bool { return tests.MatchString(name) || tools.MatchString(name) }

// isProgram reports whether a file is a program, and not another file with an executable bit.
func isProgram(path string) bool {
	name := filepath.Base(path)
	if isTestOrTool(name) || strings.HasSuffix(name, ".so") || !dialect.Executable(path) {
		return false
	}
	f, err := plainfile.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 4)
	n, _ := f.ReadAt(head, 0) // a short file is not a program
	head = head[:n]
	for _, magic := range []string{"#!", "\x7fELF", "MZ", "\xcf\xfa\xed\xfe", "\xca\xfe\xba\xbe"} {
		if bytes.HasPrefix(head, []byte(magic)) {
			return true
		}
	}
	return false
}
