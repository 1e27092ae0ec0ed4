package python

import (
	"bytes"

	"github.com/patchbay-dev/patchbay/internal/pattern"
	"github.com/patchbay-dev/patchbay/internal/plainfile"
)

// largestFile is the size of the largest file that is loaded: docs/protocols/python.md, row P20.
const largestFile = 4 << 20

var (
	// metadata matches the start of an assignment of a dict to __plugin__, outside of functions.
	metadata = pattern.New(`(?m)^__plugin__[ \t]*=[ \t]*\{`)
	// nameField matches the rest of such a dict up to its name, if that is a plain string: other
	// strings and comments first, and comments after it.
	nameField = pattern.New(`\A(?:[^{}"'#]|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|#[^\n]*\n)*?` +
		`(?:"name"|'name')\s*:\s*(?:"([^"\\\n]{1,64})"|'([^'\\\n]{1,64})')(?:\s|#[^\n]*\n)*[,}]`)
)

// declaredIn returns the name in the __plugin__ of a file, or "" if it cannot be read without
// running the file. Commands that start no plugin find the plugin by it. Once the file is loaded,
// the name is known for certain.
func declaredIn(path string) string {
	code, err := plainfile.Read(path, largestFile)
	if err != nil || !bytes.Contains(code, []byte("__plugin__")) {
		return ""
	}
	places := metadata.Regexp().FindAllIndex(code, -1)
	if len(places) == 0 {
		return ""
	}
	last := places[len(places)-1]
	match := nameField.Regexp().FindSubmatch(code[last[1]:])
	if match == nil {
		return ""
	}
	return string(match[1]) + string(match[2])
}
