package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/internal/atomicfile"
	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/daemon"
	"github.com/patchbay-dev/patchbay/internal/otlp"
	"github.com/patchbay-dev/patchbay/internal/render"
)

type exportOptions struct {
	traceFlags
	otlp      string
	file      string
	recording string
	gzip      bool
	limit     int
}

func newTraceExportCommand(a *app) *cobra.Command {
	var opts exportOptions
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Export what plugins did, to an OpenTelemetry collector, a file or a recording",
		Long: `Export events of the journal as OpenTelemetry spans. A turn is a trace, an event
at a point is a span, and each plugin that was called is a span below it. Spans
have names, verdicts, times and errors; payloads are not exported. If an event
is exported twice, its ids are the same.

The spans are sent to a collector over OTLP/HTTP, in JSON. Its address is
--otlp, or else OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, OTEL_EXPORTER_OTLP_ENDPOINT
or [telemetry] otlp in the configuration. If an address does not end with
/v1/traces, that is added; the address in OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is
used unchanged. OTEL_EXPORTER_OTLP_HEADERS, _TIMEOUT and _COMPRESSION,
OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES are used too. If the collector is
busy, the command tries a few more times, after the pauses that the collector
asks for. With --file, the spans are written to a new file; each line is the
body of one request to a collector. --file - writes them to stdout.

With --recording, the events are written to a recording, in the format of
` + "`patchbay trace record`" + `. For each plugin it has the payload, the message that
Patchbay sent to the plugin, and the plugin's answer, without secrets.
` + "`patchbay trace replay`" + ` plays it. The export starts no plugin. An existing
recording or an empty file is replaced; any other existing file is not. Events
are left out if they were too long for the journal, or if the recording would
exceed 64 MiB. The file and this command say how many. The calls of tools
themselves are not exported.

` + "`patchbay serve`" + ` exports events as they happen if the configuration has
[telemetry] otlp.`,
		Example: `  patchbay trace export --otlp http://127.0.0.1:4318 --since 24h
  patchbay trace export --file spans.jsonl --session $id
  patchbay trace export --recording turn.trace --session $id --turn $turn
  OTEL_EXPORTER_OTLP_HEADERS=api-key=$KEY patchbay trace export --otlp https://otlp.example.org`,
		Annotations: exits(exit{exitOK, "the events were exported"}, exit{exitFailed, "the collector did not accept everything, or the file cannot be written"}, exit{exitRefused, "the file of --file exists already, or the file of --recording exists and is not a recording"},
			exit{exitNotFound, "no such point, or no event for a recording"}),
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkTarget(cmd); err != nil {
				return err
			}
			return a.runExport(cmd.Context(), &opts)
		},
	}
	opts.add(a, cmd)
	f := cmd.Flags()
	f.StringVar(&opts.otlp, "otlp", "", "send the spans to the collector at this `URL`")
	f.StringVar(&opts.file, "file", "", "write the spans to this `FILE`, or - for stdout")
	f.StringVar(&opts.recording, "recording", "", "write the events to this `FILE` for patchbay trace replay, or - for stdout")
	f.BoolVar(&opts.gzip, "gzip", false, "compress the requests to the collector")
	f.IntVarP(&opts.limit, "limit", "n", 10_000, "export at most `N` events, the newest")
	return cmd
}

// checkTarget refuses more than one target, and flags that do not apply to the target.
func checkTarget(cmd *cobra.Command) error {
	given := slices.DeleteFunc([]string{"otlp", "file", "recording"}, func(name string) bool { return !cmd.Flags().Changed(name) })
	if len(given) > 1 {
		return usage("run the command once for each", "%s: --%s cannot be used together", cmd.CommandPath(), strings.Join(given, " and --"))
	}
	if cmd.Flags().Changed("gzip") && cmd.Flags().Changed("file") {
		return usage("compress the file afterwards", "%s: --gzip is for requests to a collector; it cannot be used with --file", cmd.CommandPath())
	}
	for _, name := range []string{"gzip", "limit"} {
		if cmd.Flags().Changed("recording") && cmd.Flags().Changed(name) {
			return usage("leave --"+name+" out", "%s: --%s cannot be used with --recording", cmd.CommandPath(), name)
		}
	}
	return nil
}

// exportJSON is the result of trace export in JSON.
type exportJSON struct {
	To       string `json:"to"`
	Events   int    `json:"events"`
	Spans    int    `json:"spans"`
	Rejected int    `json:"rejected"`
	Message  string `json:"message,omitempty"` // the collector's message about rejected spans
}

func (a *app) runExport(ctx context.Context, opts *exportOptions) error {
	q, err := opts.query()
	if err != nil {
		return err
	}
	if opts.limit < 1 {
		return usage("leave it out to export the newest 10000 events", "--limit %d: want at least 1", opts.limit)
	}
	if opts.recording != "" {
		return a.exportRecording(ctx, opts.recording, q)
	}
	to, err := a.exportConfig(opts)
	if err != nil {
		return err
	}
	return a.withRecords(ctx, func(r *daemon.Records) error {
		if err := wholeSession(ctx, r, &q); err != nil {
			return err
		}
		traces, err := daemon.AllTraces(ctx, r.Journal, q, opts.limit)
		if err != nil {
			return err
		}
		spans := otlp.Spans(exportEvents(traces)...)
		if opts.file != "" {
			return a.exportFile(opts.file, to.Resource, spans, len(traces))
		}
		sent, err := otlp.NewClient(to).Send(ctx, spans)
		if err != nil {
			return &problem{kind: kindFailed, err: fmt.Errorf("%d of %d spans were sent: %w", sent.Spans, len(spans), err),
				fix: "make sure that an OpenTelemetry collector listens there, for OTLP over HTTP (usually port 4318)"}
		}
		return a.printExported(exportJSON{To: to.URL.Redacted(), Events: len(traces), Spans: sent.Spans, Rejected: sent.Rejected, Message: sent.Message})
	})
}

// exportConfig returns the collector: from the flag, the environment or the configuration. A file
// needs no collector.
func (a *app) exportConfig(opts *exportOptions) (otlp.Config, error) {
	c, err := otlp.FromEnviron(opts.otlp, a.getenv)
	if errors.Is(err, otlp.ErrNoEndpoint) {
		address, readErr := a.telemetry()
		if readErr != nil {
			return c, readErr
		}
		if opts.file != "" && address == "" {
			address = "http://127.0.0.1:4318" // never contacted; FromEnviron needs an address to read the other variables
		}
		if address != "" {
			c, err = otlp.FromEnviron(address, a.getenv)
		}
	}
	c.Gzip = c.Gzip || opts.gzip
	if err != nil {
		return c, usage("add --otlp http://127.0.0.1:4318 or --file FILE, or set OTEL_EXPORTER_OTLP_ENDPOINT", "trace export: %w", err)
	}
	return c, nil
}

// telemetry returns the address of the collector in the configuration.
func (a *app) telemetry() (string, error) {
	dirs, err := a.located()
	if err != nil {
		return "", err
	}
	c, err := config.Load(dirs.ConfigFile)
	if err != nil {
		return "", err
	}
	return c.Telemetry.OTLP, nil
}

func exportEvents(traces []daemon.KeptTrace) []otlp.Event {
	events := make([]otlp.Event, len(traces))
	for i := range traces {
		t := &traces[i]
		events[i] = otlp.Event{Session: t.Session, Turn: t.Turn, End: t.Time, Outcome: t.Outcome.Outcome}
	}
	return events
}

// spansOfLine is the number of spans on one line of a file.
const spansOfLine = 512

// exportFile writes spans to a new file, or to stdout.
func (a *app) exportFile(file string, resource []otlp.Attribute, spans []otlp.Span, events int) error {
	var text bytes.Buffer
	for from := 0; from < len(spans); from += spansOfLine {
		line, err := otlp.Encode(resource, spans[from:min(from+spansOfLine, len(spans))])
		if err != nil {
			return err
		}
		text.Write(append(line, '\n'))
	}
	if file == "-" {
		_, err := a.out.Write(render.SafeJSON(text.Bytes()))
		return err
	}
	if err := writeNew(a.path(file), text.Bytes()); err != nil {
		return err
	}
	return a.printExported(exportJSON{To: file, Events: events, Spans: len(spans)})
}

// writeNew writes a file that must not exist yet. It appears whole or not at all.
func writeNew(path string, text []byte) error {
	return atomicfile.Write(path, text, atomicfile.Options{Ready: func() error {
		if _, err := os.Lstat(path); err == nil {
			return &problem{kind: kindRefused, err: fmt.Errorf("%s exists already", path), fix: "name a file that does not exist yet"}
		}
		return nil
	}})
}

func (a *app) printExported(e exportJSON) error {
	if a.flags.json {
		if err := a.printJSON(e); err != nil {
			return err
		}
	} else {
		a.printf("exported %s as %s to %s\n", render.Count(e.Events, "event"), render.Count(e.Spans, "span"), render.Line(e.To))
	}
	if e.Rejected > 0 {
		return &problem{kind: kindFailed, err: fmt.Errorf("the collector rejected %s: %s", render.Count(e.Rejected, "span"), e.Message)}
	}
	return nil
}
