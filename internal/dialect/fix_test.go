package dialect

import (
	"errors"
	"io"
	"testing"
)

// TestWithFix: the fix is a part of the error's text, and available by itself. Without an error or
// a fix, nothing is added.
func TestWithFix(t *testing.T) {
	err := WithFix(io.EOF, "write more")
	fixer, ok := errors.AsType[interface {
		error
		Fix() string
	}](err)
	if !ok || fixer.Fix() != "write more" || err.Error() != "EOF; write more" || !errors.Is(err, io.EOF) {
		t.Errorf("%v", err)
	}
	if err := WithFix(io.EOF, ""); err != io.EOF {
		t.Errorf("without a fix: %v", err)
	}
	if err := WithFix(nil, "write more"); err != nil {
		t.Errorf("without an error: %v", err)
	}
}
