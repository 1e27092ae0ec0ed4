// Package feature keeps the feature flags: which there are is written here, which are on is kept in the engine, so that
// all processes and machines on it agree.
//
//	Features.Set
//	├─ known                 the flags, by hand; another name is ErrUnknown
//	└─ engine.Bucket.Put     on or off, until it is set again
//
// A flag that was never set is at its default. It is not the config file: a flag is switched while things run, by whoever
// may use the HTTP API.
package feature
