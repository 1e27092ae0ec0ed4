package pluginhost

import (
	"bytes"
	"path/filepath"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/plainfile"
)

// A wrapper is a program in a dialect's directory that starts a plugin whose files are elsewhere.
// Other hosts of the dialect can run it.
const (
	wrapperHead = "#!/bin/sh\n# Written by `patchbay plugin install`. The plugin is there:\nexec '"
	wrapperTail = "' \"$@\"\n"
	quoteInWord = `'\''`
)

// Wrapper returns the text of a wrapper for a program.
func Wrapper(program string) []byte {
	return []byte(wrapperHead + strings.ReplaceAll(program, "'", quoteInWord) + wrapperTail)
}

// wrapped returns the program that a wrapper starts, or "" if the file is not a wrapper for a
// program in that directory. The host starts the program itself, so that the sandbox contains its
// interpreter and not the wrapper's.
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
