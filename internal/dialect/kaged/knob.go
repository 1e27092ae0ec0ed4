package kaged

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/document"
	"github.com/patchbay-dev/patchbay/internal/schema"
)

// The types of knobs.
const (
	knobRange      = "range"     // a number from Min to Max
	knobIntRange   = "int_range" // a whole number from Min to Max
	knobEnum       = "enum"      // one of Values
	knobBoolean    = "boolean"
	knobText       = "text" // one line
	knobMultiline  = "multiline"
	knobModelAlias = "model_alias" // the name of a model
	knobPath       = "path"        // a file or directory
)

// knobTypes lists the types. keys are the keys that a knob of this type may have besides the keys
// of every knob.
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
	{knobPath, []string{"prefixes"}},
}

// specialKnobKeys are the keys that only some types use.
var specialKnobKeys = []string{"min", "max", "step", "values", "labels", "max_length", "prefixes"}

func (c *checker) knobs(e, config document.Value) {
	if !e.Is(document.Map, "a mapping of names to knobs") {
		return
	}
	for _, name := range e.Names() {
		if t, ok := e.Get(name).Table("a mapping with type, label and binds_to"); ok {
			k := c.knob(t, config)
			k.Key = name
			c.m.Knobs = append(c.m.Knobs, k)
		}
	}
}

// knob reads one knob. type, label and binds_to are required. A knob without limits has those of
// the schema field that it is bound to: docs/protocols/kaged.md, row K43.
func (c *checker) knob(e *document.Table, config document.Value) dialect.Knob {
	label := e.Value("label")
	label.Required()
	var k dialect.Knob
	k.Label, _ = label.Filled()
	k.Description, _ = e.Value("description").Text()
	field := c.binding(e.Value("binds_to"), config, &k)
	k.Type = c.knobType(e)
	switch k.Type {
	case knobRange, knobIntRange:
		c.knobRange(e, field, &k)
	case knobEnum:
		c.knobEnum(e, field, &k)
	case knobText, knobMultiline:
		c.knobText(e, field, &k)
	case knobPath:
		if prefixes := e.Value("prefixes"); prefixes.Is(document.List, "a list of strings") {
			k.Prefixes = texts(prefixes, document.Value.Filled)
		}
	}
	c.knobField(e.Value("binds_to"), field, &k)
	c.knobDefault(e.Value("default"), &k)
	e.EndWarning()
	return k
}

// knobType reads the type, and warns about keys that this type does not use.
func (c *checker) knobType(e *document.Table) string {
	names := make([]string, len(knobTypes))
	for i, t := range knobTypes {
		names[i] = t.name
	}
	field := e.Value("type")
	field.Required()
	name, ok := field.OneOf(names...)
	i := slices.Index(names, name)
	for _, key := range specialKnobKeys {
		if unused := e.Value(key); ok && unused.Present() && !slices.Contains(knobTypes[i].keys, key) {
			unused.Warn("", "has no effect on a knob of type %s", name)
		}
	}
	return name
}

// binding reads binds_to, which must name a field of config_schema and never one of system_config.
// It returns the schema of that field.
func (c *checker) binding(e, config document.Value, k *dialect.Knob) (field document.Value) {
	e.Required()
	s, ok := e.Text()
	if !ok {
		return document.Value{}
	}
	owner, name, _ := strings.Cut(s, ".")
	switch {
	case owner == "system_config":
		e.Bad("", "a knob must not be bound to system_config: secrets are not for knobs")
	case owner != "config" || name == "":
		e.Bad("", "must be config.<field>, got %s", schema.Cite(s))
	case !config.Present():
		e.Bad("", "the manifest has no config_schema, so there is no field %s", schema.Cite(name))
	case config.Kind() != document.Map: // already reported
	default:
		path, field := fieldAt(config, name)
		if path == nil {
			e.Bad(dialect.Meant(name, propertyNames(config)), "config_schema has no field %s", schema.Cite(name))
		}
		k.BindsTo, k.Path = s, path
		return field
	}
	return document.Value{}
}

// fieldAt finds the schema of a field by its name, which may contain dots, or by a path of names.
func fieldAt(config document.Value, name string) (path []string, field document.Value) {
	if slices.Contains(propertyNames(config), name) {
		return []string{name}, config.Get("properties").Get(name)
	}
	for i := range name {
		if name[i] != '.' || !slices.Contains(propertyNames(config), name[:i]) {
			continue
		}
		if rest, field := fieldAt(config.Get("properties").Get(name[:i]), name[i+1:]); rest != nil {
			return append([]string{name[:i]}, rest...), field
		}
	}
	return nil, document.Value{}
}

func propertyNames(schema document.Value) []string { return properties(schema).Names() }

// either returns the knob's key if it is present, and otherwise the keyword of the schema field
// that the knob is bound to.
func either(knob, field document.Value, keyword string) document.Value {
	if knob.Present() || !field.Present() || field.Kind() != document.Map {
		return knob
	}
	return field.Get(keyword)
}

func (c *checker) knobRange(e *document.Table, field document.Value, k *dialect.Knob) {
	low, high, step := either(e.Value("min"), field, "minimum"), either(e.Value("max"), field, "maximum"), e.Value("step")
	k.Min, k.Max, k.Step = c.knobNumber(low, k), c.knobNumber(high, k), c.knobNumber(step, k)
	k.Min = narrower(k.Min, field, "minimum", func(own, schema float64) bool { return own < schema })
	k.Max = narrower(k.Max, field, "maximum", func(own, schema float64) bool { return own > schema })
	if k.Min != nil && k.Max != nil && *k.Min >= *k.Max {
		low.Bad("", "must be less than max")
		k.Min, k.Max = nil, nil // so that no other message mentions these limits
	}
	if k.Step != nil && *k.Step <= 0 {
		step.Bad("", "must be greater than 0")
	}
}

// narrower returns a knob's own limit, or the limit of its schema field if the field allows less. A
// value must keep both limits.
func narrower(own *float64, field document.Value, keyword string, wider func(own, schema float64) bool) *float64 {
	if own == nil || !field.Present() || field.Kind() != document.Map {
		return own
	}
	limit, err := strconv.ParseFloat(string(field.Get(keyword).JSON()), 64)
	if err != nil || !wider(*own, limit) {
		return own
	}
	return &limit
}

// knobNumber reads a limit or the step of a range. In an int_range they must be whole.
func (c *checker) knobNumber(e document.Value, k *dialect.Knob) *float64 {
	if k.Type == knobIntRange {
		n, ok := e.Whole()
		return given(float64(n), ok)
	}
	if !e.Is(document.Number, "a number") {
		return nil
	}
	n, err := strconv.ParseFloat(string(e.JSON()), 64)
	if err != nil {
		e.Bad("", "is out of range")
	}
	return given(n, err == nil)
}

func given[T any](v T, ok bool) *T {
	if !ok {
		return nil
	}
	return &v
}

func (c *checker) knobEnum(e *document.Table, field document.Value, k *dialect.Knob) {
	values := either(e.Value("values"), field, "enum")
	if values.Is(document.List, "a list of values") {
		if values.Len() == 0 {
			values.Bad("", "must have at least one value")
		}
		c.knobValues(values, k)
	}
	c.knobLabels(e.Value("labels"), k)
}

func (c *checker) knobValues(values document.Value, k *dialect.Knob) {
	seen := make(map[string]string)
	for _, item := range values.Items() {
		switch item.Kind() {
		case document.String, document.Number, document.Bool:
			v := item.JSON()
			if distinct(seen, item, string(v)) {
				k.Values = append(k.Values, v)
			}
		default:
			item.BadKind("", "a string, a number or a boolean")
		}
	}
}

// knobLabels reads the labels: a list with one for each value, or a mapping from values to labels.
// In a mapping, a value without a label is shown as itself.
func (c *checker) knobLabels(e document.Value, k *dialect.Knob) {
	if !e.Present() {
		return
	}
	if e.Kind() == document.Map {
		k.Labels = c.labelsByValue(e, k)
		return
	}
	if !e.Is(document.List, "a list of strings, or a mapping from values to strings") {
		return
	}
	labels := texts(e, document.Value.Text)
	if len(labels) != len(k.Values) {
		e.Warn("", "must have one label for each of the %d values, has %d: the labels are ignored", len(k.Values), len(labels))
		return
	}
	k.Labels = labels
}

func (c *checker) labelsByValue(e document.Value, k *dialect.Knob) []string {
	labels := make([]string, len(k.Values))
	for i, v := range k.Values {
		labels[i] = asText(v)
	}
	for _, name := range e.Names() {
		label, ok := e.Get(name).Text()
		i := slices.IndexFunc(k.Values, func(v json.RawMessage) bool { return asText(v) == name })
		switch {
		case i < 0:
			e.Get(name).WarnKey("", "is not one of the values")
		case ok:
			labels[i] = label
		}
	}
	return labels
}

func (c *checker) knobText(e *document.Table, field document.Value, k *dialect.Knob) {
	length := either(e.Value("max_length"), field, "maxLength")
	n, ok := length.Whole()
	if ok && n <= 0 {
		length.Bad("", "must be greater than 0, got %d", n)
		return
	}
	k.MaxLength = given(n, ok)
}

// knobField warns if the field that a knob sets has another type than the values of the knob.
func (c *checker) knobField(e, field document.Value, k *dialect.Knob) {
	if !field.Present() || field.Kind() != document.Map || field.Get("type").Kind() != document.String {
		return
	}
	var fits []string
	switch k.Type {
	case knobRange, knobIntRange:
		fits = []string{"number", "integer"}
	case knobBoolean:
		fits = []string{"boolean"}
	case knobText, knobMultiline, knobModelAlias, knobPath:
		fits = []string{"string"}
	default:
		return
	}
	if t, _ := field.Get("type").Text(); !slices.Contains(fits, t) {
		e.Warn("", "a knob of type %s cannot set a field of type %s", k.Type, document.Cut(t))
	}
}

// knobDefault reads the default and checks that the knob allows it.
func (c *checker) knobDefault(e document.Value, k *dialect.Knob) {
	if !e.Present() {
		return
	}
	k.Default = e.JSON()
	if why := outside(k, k.Default); why != "" {
		e.Bad("", "%s", why)
	}
}
