package kaged

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/schema"
)

// The types of knobs.
const (
	knobRange      = "range"     // a number between Min and Max
	knobIntRange   = "int_range" // a whole number between them
	knobEnum       = "enum"      // one of Values
	knobBoolean    = "boolean"
	knobText       = "text" // one line
	knobMultiline  = "multiline"
	knobModelAlias = "model_alias" // the name of a model
	knobPath       = "path"        // a file or directory
)

// knobTypes lists the types, and with each the keys that mean something to it
// beside those every knob has.
var knobTypes = []struct {
	name string
	keys []string
}{
	{knobRange, []string{"min", "max", "step"}},
	{knobIntRange, []string{"min", "max", "step"}},
	{knobEnum, []string{"values", "labels"}},
	{knobBoolean, nil},
	{knobText, []string{"max_length"}},
	{knobMultiline, []string{"max_length"}},
	{knobModelAlias, nil},
	{knobPath, nil},
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
			k.Key = f.name
			c.m.Knobs = append(c.m.Knobs, k)
		}
	}
}

// knob reads one knob. The document demands type, label and binds_to. A knob without limits of its own has those of the
// schema field that it is bound to, or none.
func (c *checker) knob(e, config entry) dialect.Knob {
	c.unknownKeys(e, slices.Concat(knobKeys, knobKeysOfOne))
	label := e.get("label")
	c.required(label)
	var k dialect.Knob
	k.Label, _ = c.filled(label)
	k.Description, _ = c.text(e.get("description"))
	field := c.binding(e.get("binds_to"), config, &k)
	k.Type = c.knobType(e)
	switch k.Type {
	case knobRange, knobIntRange:
		c.knobRange(e, field, &k)
	case knobEnum:
		c.knobEnum(e, field, &k)
	case knobText, knobMultiline:
		c.knobText(e, field, &k)
	}
	c.knobDefault(e.get("default"), &k)
	return k
}

// knobType reads the type and warns of keys that mean nothing to it.
func (c *checker) knobType(e entry) string {
	names := make([]string, len(knobTypes))
	for i, t := range knobTypes {
		names[i] = t.name
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
	return name
}

// binding reads `binds_to` ("must reference a field in config_schema; binding to system_config is forbidden") and returns
// the schema of the field it names.
func (c *checker) binding(e, config entry, k *dialect.Knob) (field entry) {
	c.required(e)
	s, ok := c.text(e)
	if !ok {
		return entry{}
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
	default:
		path, field := fieldAt(config, name)
		if path == nil {
			c.problem(e, "config_schema has no field %s%s", schema.Cite(name), didYouMean(name, propertyNames(config)))
		}
		k.BindsTo, k.Path = s, path
		return field
	}
	return entry{}
}

// fieldAt finds the schema of a field by its name, which may have dots in it, or by a path of names.
func fieldAt(config entry, name string) (path []string, field entry) {
	if slices.Contains(propertyNames(config), name) {
		return []string{name}, config.get("properties").get(name)
	}
	for i := range name {
		if name[i] != '.' || !slices.Contains(propertyNames(config), name[:i]) {
			continue
		}
		if rest, field := fieldAt(config.get("properties").get(name[:i]), name[i+1:]); rest != nil {
			return append([]string{name[:i]}, rest...), field
		}
	}
	return nil, entry{}
}

func propertyNames(schema entry) []string {
	var names []string
	for _, f := range properties(schema) {
		names = append(names, f.name)
	}
	return names
}

// either is the knob's own key, or else the keyword of the schema field it is bound to.
func either(knob, field entry, keyword string) entry {
	if knob.present() || !field.present() || field.node.kind != kindMap {
		return knob
	}
	return field.get(keyword)
}

func (c *checker) knobRange(e, field entry, k *dialect.Knob) {
	low, high, step := either(e.get("min"), field, "minimum"), either(e.get("max"), field, "maximum"), e.get("step")
	k.Min, k.Max, k.Step = c.knobNumber(low, k), c.knobNumber(high, k), c.knobNumber(step, k)
	if k.Min != nil && k.Max != nil && *k.Min >= *k.Max {
		c.problem(low, "must be less than max")
	}
	if k.Step != nil && *k.Step <= 0 {
		c.problem(step, "must be greater than 0")
	}
}

// knobNumber reads a number of a range; int_range wants whole ones.
func (c *checker) knobNumber(e entry, k *dialect.Knob) *float64 {
	if k.Type == knobIntRange {
		n, ok := c.integer(e)
		return given(float64(n), ok)
	}
	if !c.is(e, kindNumber, "a number") {
		return nil
	}
	n, err := strconv.ParseFloat(e.node.text, 64)
	if err != nil {
		c.problem(e, "is out of range")
	}
	return given(n, err == nil)
}

func given[T any](v T, ok bool) *T {
	if !ok {
		return nil
	}
	return &v
}

func (c *checker) knobEnum(e, field entry, k *dialect.Knob) {
	values := either(e.get("values"), field, "enum")
	if c.is(values, kindList, "a list of values") {
		if len(values.node.items) == 0 {
			c.problem(values, "must have at least one value")
		}
		c.knobValues(values, k)
	}
	c.knobLabels(e.get("labels"), k)
}

func (c *checker) knobValues(values entry, k *dialect.Knob) {
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

// knobLabels reads the labels: a list with one for each value, or a mapping from values to labels, in which a value without
// a label is shown as itself.
func (c *checker) knobLabels(e entry, k *dialect.Knob) {
	if !e.present() {
		return
	}
	if e.node.kind == kindMap {
		k.Labels = c.labelsByValue(e, k)
		return
	}
	if !c.is(e, kindList, "a list of strings, or a mapping from values to strings") {
		return
	}
	labels := c.texts(e, c.text)
	if len(labels) != len(k.Values) {
		c.warn(e, "must have one label for each of the %d values, has %d: the labels are ignored", len(k.Values), len(labels))
		return
	}
	k.Labels = labels
}

func (c *checker) labelsByValue(e entry, k *dialect.Knob) []string {
	labels := make([]string, len(k.Values))
	for i, v := range k.Values {
		labels[i] = asText(v)
	}
	for _, f := range e.node.fields {
		label, ok := c.text(e.get(f.name))
		i := slices.IndexFunc(k.Values, func(v json.RawMessage) bool { return asText(v) == f.name })
		switch {
		case i < 0:
			c.warn(entry{field: schema.FieldPath(e.field, f.name), at: f.at}, "is not one of the values")
		case ok:
			labels[i] = label
		}
	}
	return labels
}

func (c *checker) knobText(e, field entry, k *dialect.Knob) {
	length := either(e.get("max_length"), field, "maxLength")
	n, ok := c.integer(length)
	if ok && n <= 0 {
		c.problem(length, "must be greater than 0, got %d", n)
		return
	}
	k.MaxLength = given(n, ok)
}

// knobDefault checks that a knob can stand where it starts.
func (c *checker) knobDefault(e entry, k *dialect.Knob) {
	if !e.present() {
		return
	}
	k.Default = e.node.appendJSON(nil)
	if why := outside(k, k.Default); why != "" {
		c.problem(e, "%s", why)
	}
}
