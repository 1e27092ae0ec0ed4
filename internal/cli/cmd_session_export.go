package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"

	"github.com/spf13/cobra"
)

// The formats of `session export`.
const (
	formatMarkdown = "markdown"
	formatJSON     = "json"
)

type sessionExportOptions struct{ format, file string }

func newSessionExportCommand(a *app) *cobra.Command {
	var opts sessionExportOptions
	cmd := &cobra.Command{
		Use:   "export ID",
		Short: "Write a conversation as Markdown or JSON, to a file or stdout",
		Long: `Write a whole conversation: messages, tool calls with their arguments, and their
results. Markdown is for reading. JSON has every entry of the transcript with
its time and turn, as ` + "`patchbay session show --json`" + ` prints it. Without
--format, the format is Markdown, unless the name of the file ends in .json.

The file must not exist yet. It appears whole or not at all.`,
		Example: `  patchbay session export 01m7ewsr29 > conversation.md
  patchbay session export 01m7ewsr29 --file conversation.json
  patchbay session export 01m7ewsr29 --format json | jq '.transcript | length'`,
		Annotations:       exits(exit{exitOK, "the conversation was written"}, exit{exitFailed, "the file cannot be written"}, exit{exitRefused, "the file exists already"}, exit{exitNotFound, "there is no such session"}),
		Args:              arguments("ID"),
		ValidArgsFunction: a.completeIDs(1),
		RunE:              func(cmd *cobra.Command, args []string) error { return a.runSessionExport(cmd.Context(), args[0], opts) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&opts.format, "format", "", "write it in this `FORMAT`: markdown or json (default: by the name of the file, else markdown)")
	f.StringVar(&opts.file, "file", "", "write it to this `FILE`, or - for stdout (the default)")
	mustComplete(cmd, "format", formatMarkdown, formatJSON)
	return cmd
}

// exportedJSON is the result of `session export --file FILE --json`.
type exportedJSON struct {
	Session string `json:"session_id"`
	File    string `json:"file"`
	Format  string `json:"format"`
	Bytes   int    `json:"bytes"`
}

func (a *app) runSessionExport(ctx context.Context, id string, opts sessionExportOptions) error {
	switch opts.format {
	case formatMarkdown, formatJSON:
	case "":
		opts.format = formatMarkdown
		if a.flags.json && (opts.file == "" || opts.file == "-") || filepath.Ext(opts.file) == ".json" {
			opts.format = formatJSON
		}
	default:
		return usage(suggestName(opts.format, []string{formatMarkdown, formatJSON}, "write markdown or json"), "unknown --format %.60q", opts.format)
	}
	return a.withConversation(ctx, id, func(c *storedConversation) error {
		text, err := c.encode(opts.format)
		if err != nil {
			return err
		}
		if opts.file == "" || opts.file == "-" {
			_, err := a.out.Write(text)
			return err
		}
		if err := writeNew(a.path(opts.file), text); err != nil {
			return err
		}
		if a.flags.json {
			return a.printJSON(exportedJSON{c.ID, opts.file, opts.format, len(text)})
		}
		a.printf("exported %s to %s\n", c.ID, a.place(opts.file))
		return nil
	})
}

// encode returns the conversation in a format. JSON is indented, because people open the file.
func (c *storedConversation) encode(format string) ([]byte, error) {
	if format == formatMarkdown {
		return []byte(c.markdown()), nil
	}
	raw, err := encodeJSON(c)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}
