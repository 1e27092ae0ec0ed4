package sandbox

var (
	refusedHere   []uint32
	modeCallsHere []moded
	openCallsHere []moded
)
