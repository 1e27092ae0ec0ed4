package schema

// A node is a schema, compiled. What is nil or zero is not asked for.
type node struct {
	home  *resource
	never bool  // the schema false
	meta  draft // not 0: the value must be a schema of that draft

	types    typeSet // 0: any
	constant []any   // one value, or none
	enum     []any
	hasEnum  bool

	inPlace
	forNumbers
	forStrings
	forObjects
	forLists
}

// inPlace has the schemas that look at the same value as the node.
type inPlace struct {
	ref     *node
	dynamic []dynamicRef
	all     []*node
	any     []*node
	one     []*node
	not     *node
	cond    *node // "if"
	then    *node
	other   *node // "else"
}

// A dynamicRef is a "$dynamicRef" or a "$recursiveRef": which schema is meant depends on the way
// that led to it.
type dynamicRef struct {
	to        *node
	anchor    string // "": always to
	recursive bool
}

type forNumbers struct {
	minimum, maximum *number
	above, below     *number // exclusiveMinimum, exclusiveMaximum
	multiple         *number
}

type forStrings struct {
	minLength, maxLength *count
	pattern              *pattern
	format               string
	isFormat             func(string) bool
}

type forObjects struct {
	minFields, maxFields *count
	required             []string
	properties           map[string]*node
	patterns             []patternNode
	additional           *node
	names                *node // propertyNames
	dependentRequired    []dependentNames
	dependentSchemas     []dependentNode
	unevaluatedFields    *node
}

type forLists struct {
	minItems, maxItems *count
	unique             bool
	prefix             []*node
	rest               *node // of the items after those
	restInOne          bool  // tell of items after those once: additionalItems
	contains           *node
	minContains        *count
	maxContains        *count
	containsEvaluates  bool // what contains has found is evaluated (2020-12)
	unevaluatedItems   *node
}

// A count is a number of characters, items or fields.
type count struct {
	n    int    // as much as an int can hold, where it is more
	text string // the number
}

type pattern struct {
	matcher
	text string
}

type patternNode struct {
	pattern *pattern
	node    *node
}

type dependentNames struct {
	field  string
	needed []string
}

type dependentNode struct {
	field string
	node  *node
}
