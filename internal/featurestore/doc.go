// Package featurestore stores in the engine which feature flags are on, so that all processes and
// machines that use the engine agree.
//
//	Features.Set
//	├─ feature.Find          an unknown name is feature.ErrUnknown
//	└─ engine.Bucket.Put     on or off, until it is set again
//
// A flag that was never set has its default. internal/feature defines the flags.
package featurestore
