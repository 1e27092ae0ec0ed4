// Package adapter has what all hosts share; each host is a package below it. A host turns the
// moments of one kind of program into events at the hub's points. Each adapter declares the small
// interface that it needs of Patchbay, and *patchbay.Host implements it.
package adapter
