// Package featurestore keeps which feature flags are on, in the engine, so that all processes and
// machines on it agree.
//
//	Features.Set
//	├─ feature.Find          another name is feature.ErrUnknown
//	└─ engine.Bucket.Put     on or off, until it is set again
//
// A flag that was never set is at its default. Which flags there are, and what is told of one, is
// in internal/feature.
package featurestore
