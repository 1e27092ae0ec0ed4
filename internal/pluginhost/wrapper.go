package pluginhost

import (
	"bytes"
	"path/filepath"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/plainfile"
)

// The wrapper is the program in a dialect's directory that leads to a plugin whose files are
// elsewhere. Other hosts of the dialect run it.
const (
	wrapperHead = "#!/bin/sh\n# Written by `patchbay plugin install`. The plugin is there:\nexec '"
	wrapperTail = "' \"$@\"\n"
	quoteInWord = `'\''`
)

// Wrapper is the text of a wrapper for a program.
func Wrapper(program string) []byte {
	return []byte(wrapperHead + strings.ReplaceAll(program, "'", quoteInWord) + wrapperTail)
}

// wrapped is the program that a wrapper leads to; "" where the file is no wrapper for a program in
// that directory. The host starts the program itself: a sandbox then has its interpreter, and not
// that of the wrapper.
func wrapped(file, installed string) string {
	if installed == "" {
		return ""
	}
	text, err := plainfile.Read(file, 8<<10)
	inner, ok := strings.CutPrefix(string(text), wrapperHead)
	if err != nil || !ok {
		return ""
	}
	program := strings.ReplaceAll(strings.TrimSuffix(inner, wrapperTail), quoteInWord, "'")
	if filepath.Dir(program) != installed || !bytes.Equal(Wrapper(program), text) {
		return ""
	}
	return program
}
