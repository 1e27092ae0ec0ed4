//go:build race

package escape

const raced = true
