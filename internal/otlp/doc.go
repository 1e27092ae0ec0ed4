// Package otlp sends traces to an OpenTelemetry collector: OTLP over HTTP, in JSON.
//
//	Spans               spans.go   makes a span of each event, a child span of each step, and one trace of a turn
//	Encode              encode.go  encodes spans as an ExportTraceServiceRequest
//	Client.Send         client.go  sends spans in batches, and a batch again if the collector asks for it
//	Queue.Offer         queue.go   never waits: a goroutine sends the spans, or they are dropped and counted
//	FromEnviron         config.go  reads address and headers from the OTEL_EXPORTER_OTLP_ variables
//
// It encodes only this one message. It has no metrics, no logs, no gRPC and no Protobuf, and makes
// no spans of anything but events. It exports names, verdicts, times and errors, but no payloads.
package otlp
