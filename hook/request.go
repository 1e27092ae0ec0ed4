package hook

import "context"

// requestKey is the key of a request's id in a context.
type requestKey struct{}

// WithRequest says that the events fired with this context belong to one
// request, such as one turn of an agent: plugins whose protocol has a state per
// request share it among them.
func WithRequest(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestKey{}, id)
}

// Request is the id of the request that an event belongs to, "" where nobody said.
func Request(ctx context.Context) string {
	id, _ := ctx.Value(requestKey{}).(string)
	return id
}
