package fixes

import (
	"errors"
	"fmt"
	"testing"
)

type fixable struct{ text, fix string }

func (e fixable) Error() string { return e.text }
func (e fixable) Fix() string   { return e.fix }

func TestSplit(t *testing.T) {
	closed := fixable{"the door is closed; open it", "open it"}
	for err, want := range map[error][2]string{
		closed:                                 {"the door is closed", "open it"},
		fmt.Errorf("no way in: %w", closed):    {"no way in: the door is closed", "open it"},
		fmt.Errorf("%w, says the cat", closed): {"the door is closed; open it, says the cat", "open it"},
		fixable{"the house is empty; ", ""}:    {"the house is empty; ", ""},
		errors.New("it rains; "):               {"it rains; ", ""},
	} {
		if text, fix := Split(err); text != want[0] || fix != want[1] {
			t.Errorf("%v: got %q, %q", err, text, fix)
		}
	}
}
