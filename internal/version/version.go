// Package version says which Patchbay this is. It is a leaf, so that the smallest program knows it
// too.
package version

// Number is what Patchbay tells plugins and users it is.
const Number = "0.1.0"
