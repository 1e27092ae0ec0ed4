package hook

import "context"

// Listens tells whether any hook of a point takes part by what the context says. Where none does, firing the point changes
// nothing, and a host need not put its payload together.
func (b *Bus) Listens(ctx context.Context, p Point) bool { return len(chosen(ctx, b.Hooks(p))) > 0 }
