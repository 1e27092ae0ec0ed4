package kaged

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/patchbay-dev/patchbay/internal/schema"
)

// A KnobType is the kind of control a knob is shown as.
type KnobType string

// The types.
const (
	KnobRange      KnobType = "range"     // a number between Min and Max
	KnobIntRange   KnobType = "int_range" // a whole number between them
	KnobEnum       KnobType = "enum"      // one of Values
	KnobBoolean    KnobType = "boolean"
	KnobText       KnobType = "text" // one line
	KnobMultiline  KnobType = "multiline"
	KnobModelAlias KnobType = "model_alias" // the name of a model
	KnobPath       KnobType = "path"        // a file or directory
)

// A Knob is one setting an operator may turn: a control bound to a field of the
// plugin's config.
type Knob struct {
	Name        string
	Type        KnobType
	Label       string
	Description string
	Field       string // of config_schema: binds_to without "config."

	Min, Max float64 // KnobRange, KnobIntRange
	Step     float64 // the same; 0: any value between them

	Values []json.RawMessage // KnobEnum: strings, numbers or booleans
	Labels []string          // KnobEnum: one for each value, or none

	MaxLength int // KnobText, KnobMultiline: in characters; 0: any

	Default json.RawMessage // nil: none
}

// knobTypes lists the types, and with each the keys that mean something to it
// beside those every knob has.
var knobTypes = []struct {
	name KnobType
	keys []string
}{
	{KnobRange, []string{"min", "max", "step"}},
	{KnobIntRange, []string{"min", "max", "step"}},
	{KnobEnum, []string{"values", "labels"}},
	{KnobBoolean, nil},
	{KnobText, []string{"max_length"}},
	{KnobMultiline, []string{"max_length"}},
	{KnobModelAlias, nil},
	{KnobPath, nil},
}

// The keys every knob may have, and those that only some types use.
var (
	knobKeys      = []string{"type", "label", "description", "binds_to", "default"}
	knobKeysOfOne = []string{"min", "max", "step", "values", "labels", "max_length"}
)

func (c *checker) knobs(e, config entry) {
	if !c.is(e, kindMap, "a mapping of names to knobs") {
		return
	}
	for _, f := range e.node.fields {
		item := entry{schema.FieldPath(e.field, f.name), f.value.at, f.value}
		if c.is(item, kindMap, "a mapping with type, label and binds_to") {
			k := c.knob(item, config)
			k.Name = f.name
			c.m.Knobs = append(c.m.Knobs, k)
		}
	}
}

func (c *checker) knob(e, config entry) Knob {
	c.unknownKeys(e, slices.Concat(knobKeys, knobKeysOfOne))
	label := e.get("label")
	c.required(label)
	var k Knob
	k.Label, _ = c.filled(label)
	k.Description, _ = c.text(e.get("description"))
	k.Field = c.binding(e.get("binds_to"), config)
	k.Type = c.knobType(e)
	switch k.Type {
	case KnobRange, KnobIntRange:
		c.knobRange(e, &k)
	case KnobEnum:
		c.knobEnum(e, &k)
	case KnobText, KnobMultiline:
		c.knobText(e, &k)
	}
	c.knobDefault(e.get("default"), &k)
	return k
}

// knobType reads the type and warns of keys that mean nothing to it.
func (c *checker) knobType(e entry) KnobType {
	names := make([]string, len(knobTypes))
	for i, t := range knobTypes {
		names[i] = string(t.name)
	}
	field := e.get("type")
	c.required(field)
	name, ok := c.oneOf(field, names)
	if !ok {
		return ""
	}
	used := knobTypes[slices.Index(names, name)].keys
	for _, key := range knobKeysOfOne {
		if unused := e.get(key); unused.present() && !slices.Contains(used, key) {
			c.warn(unused, "means nothing to a knob of type %s", name)
		}
	}
	return KnobType(name)
}

// binding: "`binds_to` (must reference a field in config_schema; binding to
// system_config is forbidden)".
func (c *checker) binding(e, config entry) string {
	c.required(e)
	s, ok := c.text(e)
	if !ok {
		return ""
	}
	owner, name, _ := strings.Cut(s, ".")
	switch {
	case owner == "system_config":
		c.problem(e, "a knob must not be bound to system_config: secrets are not for knobs")
	case owner != "config" || name == "":
		c.problem(e, "must be config.<field>, got %s", schema.Cite(s))
	case !config.present():
		c.problem(e, "the manifest has no config_schema for %s to be in", schema.Cite(name))
	case config.node.kind != kindMap: // reported already
	case !slices.ContainsFunc(properties(config), func(f yamlField) bool { return f.name == name }):
		c.problem(e, "config_schema has no field %s%s", schema.Cite(name), didYouMean(name, propertyNames(config)))
	default:
		return name
	}
	return ""
}

func propertyNames(schema entry) []string {
	var names []string
	for _, f := range properties(schema) {
		names = append(names, f.name)
	}
	return names
}

func (c *checker) knobRange(e entry, k *Knob) {
	low, high, step := e.get("min"), e.get("max"), e.get("step")
	c.required(low)
	c.required(high)
	var fromOK, toOK bool
	k.Min, fromOK = c.knobNumber(low, k)
	k.Max, toOK = c.knobNumber(high, k)
	if fromOK && toOK && k.Min >= k.Max {
		c.problem(low, "must be less than max")
	}
	if n, ok := c.knobNumber(step, k); ok {
		k.Step = n
		if n <= 0 {
			c.problem(step, "must be greater than 0")
		}
	}
}

// knobNumber reads a number of a range; int_range wants whole ones.
func (c *checker) knobNumber(e entry, k *Knob) (float64, bool) {
	if k.Type == KnobIntRange {
		n, ok := c.integer(e)
		return float64(n), ok
	}
	if !c.is(e, kindNumber, "a number") {
		return 0, false
	}
	n, err := strconv.ParseFloat(e.node.text, 64)
	if err != nil {
		c.problem(e, "is out of range")
	}
	return n, err == nil
}

func (c *checker) knobEnum(e entry, k *Knob) {
	values, labels := e.get("values"), e.get("labels")
	c.required(values)
	if c.is(values, kindList, "a list of values") {
		if len(values.node.items) == 0 {
			c.problem(values, "must have at least one value")
		}
		c.knobValues(values, k)
	}
	k.Labels = c.texts(labels, c.text)
	if hollow(values) || !labels.present() || labels.node.kind != kindList || values.node.kind != kindList {
		return
	}
	if want, got := len(values.node.items), len(labels.node.items); want != got {
		c.problem(labels, "must have one label for each of the %d values, has %d", want, got)
	}
}

func (c *checker) knobValues(values entry, k *Knob) {
	seen := make(map[string]string)
	for _, item := range values.list() {
		switch item.node.kind {
		case kindString, kindNumber, kindBool:
			v := item.node.appendJSON(nil)
			if c.distinct(seen, item, string(v)) {
				k.Values = append(k.Values, v)
			}
		default:
			c.problem(item, "must be a string, a number or a boolean, got %s", item.node.kind)
		}
	}
}

func (c *checker) knobText(e entry, k *Knob) {
	length := e.get("max_length")
	n, ok := c.integer(length)
	if ok && n <= 0 {
		c.problem(length, "must be greater than 0, got %d", n)
		return
	}
	k.MaxLength = n
}

// knobDefault checks that a knob can stand where it starts.
func (c *checker) knobDefault(e entry, k *Knob) {
	if !e.present() {
		return
	}
	k.Default = e.node.appendJSON(nil)
	switch k.Type {
	case KnobRange, KnobIntRange:
		n, ok := c.knobNumber(e, k)
		if ok && k.Min < k.Max && (n < k.Min || n > k.Max) {
			c.problem(e, "must be from min to max: %v to %v", k.Min, k.Max)
		}
	case KnobEnum:
		same := func(v json.RawMessage) bool { return bytes.Equal(v, k.Default) }
		if len(k.Values) > 0 && !slices.ContainsFunc(k.Values, same) {
			c.problem(e, "must be one of the values")
		}
	case KnobBoolean:
		c.is(e, kindBool, "true or false")
	case KnobText, KnobMultiline, KnobModelAlias, KnobPath:
		s, ok := c.text(e)
		if ok && k.MaxLength > 0 && utf8.RuneCountInString(s) > k.MaxLength {
			c.problem(e, "must have at most max_length characters: %d", k.MaxLength)
		}
	}
}
