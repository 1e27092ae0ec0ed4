package sandbox

var (
	refusedHere   []uint32
	modeCallsHere []moded
	nodeCallsHere []moded
	openCallsHere []moded

	attributePathsHere []uint32
	timeCallsHere      []uint32
)
