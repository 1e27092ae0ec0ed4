// Package variants gives a fuzz target more inputs than its seeds in every go test: changed copies
// of the seeds. They are the same in every run, so no test fails or passes by luck, and a failure
// can be repeated by its name, such as FuzzReply/seed#17. Unlike go test -fuzz they need no build
// of their own, and they also run with the race detector.
//
// go test -fuzz, and so make fuzz, looks for new inputs itself, and gets only the seeds.
//
// The package is only for tests. It imports nothing of this module, so that the tests of every
// package can use it.
package variants

import (
	"flag"
	"hash/fnv"
	"math/rand/v2"
	"reflect"
	"testing"
)

const (
	many = 1000 // variants of a target
	few  = 50   // of a target that takes milliseconds for each

	// enough is how many bytes the variants of a target may have together. Long seeds get fewer.
	enough = 4 << 20
)

// An F is a fuzz target that also runs variants of the seeds that are added to it.
type F struct {
	*testing.F
	seeds [][]any
	times int
}

// Of returns f with variants.
func Of(f *testing.F) *F { return &F{F: f, times: many} }

// Few is Of for a target that takes milliseconds for an input.
func Few(f *testing.F) *F { return &F{F: f, times: few} }

// Add adds a seed.
func (f *F) Add(args ...any) {
	f.Helper()
	f.seeds = append(f.seeds, args)
	f.F.Add(args...)
}

// Fuzz runs ff with the seeds and their variants, or fuzzes it if go test was told to.
func (f *F) Fuzz(ff any) {
	f.Helper()
	if !fuzzing() {
		for v := range variants(f.Name(), f.seeds, f.times, enough) {
			f.F.Add(v...)
		}
	}
	f.F.Fuzz(ff)
}

func fuzzing() bool {
	pattern := flag.Lookup("test.fuzz")
	return pattern != nil && pattern.Value.String() != ""
}

// variants yields changed copies of the seeds: at most as many as times says, with at most size
// bytes together. For the same name and seeds it always yields the same copies.
func variants(name string, seeds [][]any, times, size int) func(yield func([]any) bool) {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(name)) // never fails
	c := changer{rand.New(rand.NewPCG(hash.Sum64(), 0))}
	return func(yield func([]any) bool) {
		for i := range times {
			if len(seeds) == 0 {
				return
			}
			v := c.variant(seeds, i%len(seeds))
			if size -= length(v); size < 0 || !yield(v) {
				return
			}
		}
	}
}

// length returns how many bytes the texts among the arguments have.
func length(args []any) int {
	n := 0
	for _, a := range args {
		if v := reflect.ValueOf(a); isText(v.Type()) {
			n += v.Len()
		}
	}
	return n
}

func isText(t reflect.Type) bool {
	return t.Kind() == reflect.String || t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
}
