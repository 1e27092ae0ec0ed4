// Package adapter has the code that all adapters share; each adapter is a package below it. An
// adapter turns the moments of one kind of host into events at the hub's points. It declares the
// small interface that it needs of Patchbay, and *patchbay.Host implements it.
package adapter
