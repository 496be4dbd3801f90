package store

import (
	"context"
	"slices"
)

// held is the key of what writes under a context are stored only together with.
type held struct{}

// While returns a context under which a Writer stores something only while a record has a revision, 0 while there is none.
// ErrConflict otherwise. What changes that record itself says so by its own revision.
func While(ctx context.Context, key string, revision uint64) context.Context {
	return context.WithValue(ctx, held{}, Holds(key, revision))
}

// Regardless returns a context under which writes are stored whatever While asked for: for the rest of what was begun.
func Regardless(ctx context.Context) context.Context { return context.WithValue(ctx, held{}, Op{}) }

// while are operations with what their context holds them to.
func while(ctx context.Context, ops []Op) []Op {
	op, _ := ctx.Value(held{}).(Op)
	if !op.holds || slices.ContainsFunc(ops, func(o Op) bool { return o.Key == op.Key }) {
		return ops
	}
	return append(slices.Clip(ops), op)
}
