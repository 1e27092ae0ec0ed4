package pythonfile

import (
	"context"

	"github.com/patchbay-dev/patchbay/internal/dialect/python"
)

// draftName is the name of code that is only parsed.
const draftName = "draft"

// A Parser looks at one piece of code after the other, in one interpreter, without running any. It
// is not safe for concurrent use.
type Parser struct{ inspector *python.Inspector }

// Parser starts the interpreter of a parser. ctx bounds the start only.
func (f Files) Parser(ctx context.Context) (*Parser, error) {
	rt, _ := f.host.Trial(Dialect, draftName) // nothing is run, so the sandbox is optional
	inspector, err := python.New().OpenInspector(ctx, rt)
	if err != nil {
		return nil, err
	}
	return &Parser{inspector}, nil
}

// Parse checks code without running it. For code that is not a plugin it returns a [*CodeError].
func (p *Parser) Parse(ctx context.Context, content string) error {
	_, err := p.inspector.Inspect(ctx, python.Draft{Name: draftName, Content: content})
	return err
}

// Broken reports whether the interpreter has ended or was too slow. The parser can then no longer
// be used, but must still be closed.
func (p *Parser) Broken() bool { return p.inspector.Broken() }

// Close ends the interpreter.
func (p *Parser) Close(ctx context.Context) { p.inspector.Close(ctx) }
