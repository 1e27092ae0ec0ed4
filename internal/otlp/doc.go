// Package otlp sends traces to an OpenTelemetry collector: OTLP over HTTP, in JSON.
//
//	Spans               spans.go   an event becomes a span, each plugin's step a child of it, a turn a trace
//	Encode              encode.go  spans become the JSON of an ExportTraceServiceRequest
//	Client.Send         client.go  in batches, again where the collector says "later"
//	Queue.Offer         queue.go   never waits: a goroutine sends what was offered, or it is dropped and counted
//	FromEnviron         config.go  where to, and with which headers: the OTEL_EXPORTER_OTLP_ variables
//
// It is an encoder of our own for the one message that is needed. It has no metrics, no logs, no
// gRPC and no Protobuf, and it makes no spans of what the process does otherwise. Payloads are not
// exported: names, verdicts, times and errors are.
package otlp
