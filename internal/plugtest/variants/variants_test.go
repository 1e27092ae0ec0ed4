package variants

import (
	"encoding/json"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func all(name string, seeds [][]any, times, size int) [][]any {
	return slices.Collect(variants(name, seeds, times, size))
}

func TestVariants(t *testing.T) {
	seeds := [][]any{{[]byte(`{"a":[1,"b"]}`), "x", 7, uint8(3), true, 0.5, 'r'}, {[]byte(nil), "", -1, uint8(0), false, 1.0, 'é'}}
	before := fmt.Sprintf("%q", seeds)
	got := all("FuzzX", seeds, 500, 1<<20)
	if len(got) != 500 {
		t.Fatalf("%d variants", len(got))
	}
	if after := fmt.Sprintf("%q", seeds); after != before {
		t.Errorf("the seeds have changed to %s", after)
	}
	differ := make([]int, len(seeds[0]))
	for i, v := range got {
		for j := range v {
			was := seeds[i%2][j]
			if a, b := fmt.Sprintf("%T", v[j]), fmt.Sprintf("%T", was); a != b {
				t.Fatalf("a %s for a %s", a, b)
			}
			if fmt.Sprintf("%q", v[j]) != fmt.Sprintf("%q", was) {
				differ[j]++
			}
		}
	}
	for j, n := range differ {
		if n < 50 {
			t.Errorf("argument %d differs from the seed's in only %d of 500 variants", j, n)
		}
	}
}

func TestTheSameVariantsInEveryRun(t *testing.T) {
	seeds := [][]any{{"some text", 1}}
	show := func(name string) string { return fmt.Sprintf("%q", all(name, seeds, 100, 1<<20)) }
	if first := show("FuzzX"); first != show("FuzzX") {
		t.Error("they differ from one run to the next")
	}
	if show("FuzzX") == show("FuzzY") {
		t.Error("two targets have the same variants")
	}
}

func TestLongSeedsGetFewerVariants(t *testing.T) {
	long := make([]byte, 1000)
	if got := all("FuzzX", [][]any{{long}}, 500, 50_000); len(got) < 20 || len(got) > 100 {
		t.Errorf("%d variants of a thousand bytes each", len(got))
	}
	if got := all("FuzzX", nil, 500, 50_000); len(got) != 0 {
		t.Errorf("%d variants of no seed", len(got))
	}
}

// TestVariantsReachMistakes: among the variants of one document are the kinds of input that
// decoders often handle wrongly, and many that are still valid.
func TestVariantsReachMistakes(t *testing.T) {
	count := make(map[string]int)
	for _, v := range all("FuzzX", [][]any{{`{"method":"a","params":{"b":[1,2]},"id":1}`}}, many, 1<<20) {
		text := v[0].(string)
		switch {
		case !utf8.ValidString(text):
			count["not UTF-8"]++
		case json.Valid([]byte(text)):
			count["valid"]++
		case text == "":
			count["empty"]++
		default:
			count["broken"]++
		}
		if len(text) > deep {
			count["deep"]++
		}
	}
	for _, kind := range []string{"not UTF-8", "valid", "broken", "deep"} {
		if count[kind] == 0 {
			t.Errorf("none is %s: %v", kind, count)
		}
	}
}

// FuzzWithVariants runs as every target does: it gets the seed, and the variants unless go test
// fuzzes.
func FuzzWithVariants(tf *testing.F) {
	f := Of(tf)
	f.Add("seed")
	ran := 0
	f.Cleanup(func() {
		single := strings.Contains(flag.Lookup("test.run").Value.String(), "/")
		if !fuzzing() && !single && ran != 1+many {
			f.Errorf("%d inputs were run", ran)
		}
	})
	f.Fuzz(func(_ *testing.T, _ string) { ran++ })
}
