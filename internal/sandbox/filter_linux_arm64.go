package sandbox

var (
	refusedHere   []uint32
	modeCallsHere []modeCall
	nodeCallsHere []modeCall
	openCallsHere []modeCall

	attributePathsHere []uint32
	timeCallsHere      []uint32
)
