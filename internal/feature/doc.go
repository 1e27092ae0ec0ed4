// Package feature defines the feature flags. internal/featurestore stores which of them are on. A
// flag is not a setting of the configuration: it is switched over the HTTP API while the daemon
// runs.
//
//	Known    returns all flags with their defaults
//	Find     returns one of them, or ErrUnknown
package feature
