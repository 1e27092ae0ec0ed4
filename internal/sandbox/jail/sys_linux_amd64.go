package jail

const (
	sysSeccomp = 317
	sysStatx   = 332
)
