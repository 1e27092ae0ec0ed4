package jail

const sysSeccomp = 317
