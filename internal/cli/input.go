package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/patchbay-dev/patchbay/rawjson"
)

// maxInput limits what is read from a file or stdin. No protocol has a message nearly as large, and
// a wrong file name must not fill the memory.
const maxInput = 64 << 20

// A jsonFlag is a flag whose value is a JSON object: written out, in a file (@FILE), or on stdin
// (-).
type jsonFlag struct {
	name  string // without the dashes
	value string // empty: an empty object
}

// source names the origin of the JSON, for errors.
func (f jsonFlag) source() string {
	switch {
	case f.value == "-":
		return "stdin"
	case strings.HasPrefix(f.value, "@"):
		return f.value[1:]
	}
	return "--" + f.name
}

// jsonObject reads the object of a flag.
func (a *app) jsonObject(ctx context.Context, f jsonFlag) (json.RawMessage, error) {
	if f.value == "" {
		return json.RawMessage("{}"), nil
	}
	data, err := interruptible(ctx, func() (json.RawMessage, error) { return a.read(f) })
	if err != nil {
		return nil, err
	}
	if err := rawjson.Check(data); err != nil {
		return nil, usage(a.jsonFix(f), "%s", syntaxMessage(f.source(), data, err))
	}
	if _, err := rawjson.Parse(data); err != nil {
		return nil, usage("wrap it in an object, as in {\"name\": …}", "%s is not a JSON object, but %s", f.source(), jsonType(data))
	}
	return data, nil
}

func (a *app) read(f jsonFlag) (json.RawMessage, error) {
	switch {
	case f.value == "-":
		if a.InTTY {
			fmt.Fprintln(a.Err, "reading JSON from the terminal; end with Ctrl-D")
		}
		return readCapped(a.In, f)
	case strings.HasPrefix(f.value, "@"):
		file, err := os.Open(a.path(f.value[1:]))
		if err != nil {
			return nil, usage("@FILE reads a file; name one that can be read", "--%s: %w", f.name, err)
		}
		defer file.Close()
		return readCapped(file, f)
	}
	return json.RawMessage(f.value), nil
}

func readCapped(r io.Reader, f jsonFlag) (json.RawMessage, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	if err != nil {
		return nil, usage("", "--%s: %w", f.name, err)
	}
	if len(data) > maxInput {
		return nil, usage("send a smaller object", "--%s: %s has more than %d MiB", f.name, f.source(), maxInput>>20)
	}
	return data, nil
}

// jsonFix returns how to write what was probably meant.
func (a *app) jsonFix(f jsonFlag) string {
	if _, err := os.Stat(a.path(f.value)); err == nil {
		return fmt.Sprintf("to read the file, write --%s @%s", f.name, f.value)
	}
	if name, _, pair := strings.Cut(f.value, "="); pair && f.name == "args" && !strings.ContainsAny(name, `{[" `) {
		return fmt.Sprintf("without --args, write `%s` after the name of the tool", f.value)
	}
	if f.source() == "--"+f.name {
		return fmt.Sprintf(`put the JSON in single quotes, as in --%s '{"name":"value"}', or read it from a file with @FILE or from stdin with -`, f.name)
	}
	return ""
}

// syntaxMessage says where text stops being JSON, and shows the place.
func syntaxMessage(source string, data []byte, err error) string {
	offset, why := len(data), err.Error()
	var ignored json.RawMessage
	if syntax, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(data, &ignored)); ok {
		offset, why = syntaxOffset(syntax, len(data)), syntax.Error()
	}
	line, column := position(data, offset)
	return fmt.Sprintf("%s is not JSON: line %d, column %d: %s\n%s", source, line, column, why, snippet(data, offset))
}

// syntaxOffset returns the offset of the first wrong byte. The decoder counts the bytes that it has
// read, including that one. If the input is too short, the offset is its length.
func syntaxOffset(err *json.SyntaxError, size int) int {
	if strings.Contains(err.Error(), "unexpected end") {
		return size
	}
	return min(max(int(err.Offset)-1, 0), size)
}

// jsonType names the type of a valid JSON text, by its first byte.
func jsonType(data []byte) string {
	switch c := strings.TrimLeft(string(data), " \t\r\n")[0]; c {
	case '[':
		return "a list"
	case '"':
		return "a string"
	case 't', 'f':
		return "true or false"
	case 'n':
		return "null"
	}
	return "a number"
}
