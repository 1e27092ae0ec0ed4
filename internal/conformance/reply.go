package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/patchbay-dev/patchbay/rawjson"
)

// object reads the only JSON object that a program may print. If there is other text around it, it
// notes that and returns the object, so that one debugging line is one fault.
func (b *bench) object(what string, stdout []byte) (rawjson.Object, error) {
	text := bytes.TrimSpace(stdout)
	if len(text) == 0 {
		return nil, fmt.Errorf("%s printed nothing", what)
	}
	o, err := rawjson.ParseForeign(text)
	if err == nil {
		if !utf8.Valid(text) {
			b.seen.note(sawNoise, "%s printed an answer that is not UTF-8: %s", what, shown(text))
		}
		return o, nil
	}
	if repeated, ok := errors.AsType[*rawjson.RepeatError](err); ok {
		return nil, fmt.Errorf("%s printed an invalid answer: %w: %s", what, repeated, shown(text))
	}
	for line := range bytes.Lines(text) {
		found, lineErr := rawjson.ParseForeign(bytes.TrimSpace(line))
		if lineErr == nil {
			o = found
		}
	}
	if from, to := bytes.IndexByte(text, '{'), bytes.LastIndexByte(text, '}'); o == nil && from >= 0 && to > from {
		o, _ = rawjson.ParseForeign(text[from : to+1])
	}
	if o == nil {
		return nil, fmt.Errorf("%s printed something that is not a JSON object: %s", what, shown(text))
	}
	b.seen.note(sawNoise, "%s printed more than its answer: %s", what, shown(text))
	return o, nil
}
