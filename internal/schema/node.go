package schema

// A node is a compiled schema. Fields that are nil or zero demand nothing.
type node struct {
	home  *resource
	never bool  // the schema is false
	meta  draft // not 0: the value must be a schema of that draft

	types    typeSet // 0: any
	constant []any   // one value or none
	enum     []any
	hasEnum  bool

	inPlace
	forNumbers
	forStrings
	forObjects
	forLists
}

// inPlace has the schemas that check the same value as the node.
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

// A dynamicRef is a "$dynamicRef" or a "$recursiveRef". Its target depends on the scope in which it
// is used.
type dynamicRef struct {
	to        *node
	anchor    string // "": the target is the node in to, unless recursive is set
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
	rest               *node // for the items after prefix
	restInOne          bool  // report the items after prefix with a single error: additionalItems
	contains           *node
	minContains        *count
	maxContains        *count
	containsEvaluates  bool // items found by contains are evaluated (2020-12)
	unevaluatedItems   *node
}

// A count is a number of characters, items or fields.
type count struct {
	n    int    // at most the largest int
	text string // the number as written in messages
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
