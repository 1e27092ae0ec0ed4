// Package version has the version of Patchbay. It imports nothing, so that the smallest program can
// use it.
package version

// Number is the version of Patchbay, as plugins and users see it.
const Number = "0.1.0"
