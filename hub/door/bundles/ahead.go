package bundles

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"flotilla/core/api"
	"flotilla/core/content"
)

const (
	// inTurn is how many bytes are stored within the turn, and mostRounds how often a request leaves it to store more: who is
	// overtaken that often by changes of what they select stores the rest within.
	inTurn     = 4 << 20
	mostRounds = 4
	// roomOfManifest is what a manifest takes in a work.
	roomOfManifest = 512
)

// ErrLater says that something is to be done before the turn: leave it, Do that, and decide again.
var ErrLater = errors.New("to be done before the turn")

// Ahead is what one request has done before its turn: what is stored already is not stored within it. Nil does nothing before.
type Ahead struct {
	do     func(context.Context, *Ahead) error
	rounds int
	free   []func()
	stored map[string]bool // digests of what stays until Free
	laid   map[string]made // by placement
	since  time.Time
}

// made is what was laid out for a placement: manifests, upon earlier works.
type made struct {
	manifests []api.Manifest
	earlier   []string
	bundles   []content.Bundle
}

type key struct{}

// In returns a context whose drafts have done ahead what takes long.
func (a *Ahead) In(ctx context.Context) context.Context { return context.WithValue(ctx, key{}, a) }

func of(ctx context.Context) *Ahead {
	a, _ := ctx.Value(key{}).(*Ahead)
	return a
}

// Since is when the request of a context was decided first, now where it is: bodies that hold the time stay the same when it is decided again.
func Since(ctx context.Context, now time.Time) time.Time {
	a := of(ctx)
	if a == nil {
		return now
	}
	if a.since.IsZero() {
		a.since = now
	}
	return a.since
}

// Do does what was left for it. Nobody is to have the turn.
func (a *Ahead) Do(ctx context.Context) error {
	do := a.do
	a.do = nil
	a.rounds++
	return do(ctx, a)
}

// Forget drops what was left to Do: the request is decided again before.
func (a *Ahead) Forget() { a.do, a.laid = nil, nil }

// Free lets what was stored ahead go, unless something refers to it by now.
func (a *Ahead) Free() {
	for _, free := range a.free {
		free()
	}
	a.free, a.stored = nil, nil
}

// later leaves something to Do, or does it where that is not possible, with nil.
func (a *Ahead) later(ctx context.Context, do func(context.Context, *Ahead) error) error {
	if a == nil || a.rounds >= mostRounds {
		return do(ctx, nil)
	}
	a.do = do
	return ErrLater
}

// again is what was laid out for the same, nil where that was for something else.
func (a *Ahead) again(next *api.Snapshot, earlier []string) []content.Bundle {
	if a == nil {
		return nil
	}
	if m := a.laid[next.Placement]; slices.Equal(m.manifests, next.Manifests) && slices.Equal(m.earlier, earlier) {
		return m.bundles
	}
	return nil
}

// upon adds what is stored for a placement to what its snapshots are built upon: what it selects has changed since.
func (a *Ahead) upon(placement string, earlier [][]content.Earlier) [][]content.Earlier {
	if a == nil {
		return earlier
	}
	var stored []content.Earlier
	for i := range a.laid[placement].bundles {
		b := &a.laid[placement].bundles[i]
		if a.stored[b.Digest] && len(b.Work.Packs) == 0 {
			stored = append(stored, content.Carriers(b.Digest, &b.Work)...)
		}
	}
	if len(stored) == 0 {
		return earlier
	}
	out := [][]content.Earlier{stored}
	for _, stack := range earlier {
		others := slices.DeleteFunc(slices.Clone(stored), func(s content.Earlier) bool {
			return slices.ContainsFunc(stack, func(e content.Earlier) bool { return e.Work == s.Work })
		})
		out = append(out, slices.Concat(stack, others))
	}
	return out
}

func (a *Ahead) note(placement string, m made) {
	if a == nil {
		return
	}
	if a.laid == nil {
		a.laid = map[string]made{}
	}
	a.laid[placement] = m
}

// Store stores the bundles, and bodies that are new, by digest. ErrLater: they are many, and nothing is stored yet.
func (l *Layout) Store(ctx context.Context, bodies map[string][]byte) error {
	ahead := of(ctx)
	var lacking []piece
	bytes := 0
	add := func(digest string, size int, put func(context.Context) error) {
		if ahead == nil || !ahead.stored[digest] {
			lacking = append(lacking, piece{digest, put})
			bytes += size
		}
	}
	for _, digest := range slices.Sorted(maps.Keys(bodies)) {
		add(digest, len(bodies[digest]), func(ctx context.Context) error { return l.Stacks.content.Put(ctx, digest, bodies[digest]) })
	}
	for i := range l.bundles {
		b := &l.bundles[i]
		size := l.carries(b)
		if ahead == nil || len(ahead.stored) == 0 { // later only what others changed meanwhile has other heads, and is stored within the turn
			size += roomOfManifest * len(b.Work.Manifests)
		}
		add(b.Digest, size, func(ctx context.Context) error {
			work := content.Keyed(b.Work, l.Plan.Keys)
			return l.Stacks.content.PutBundle(ctx, b.Digest, &work, bodies)
		})
	}
	put := func(ctx context.Context, ahead *Ahead) error {
		for i := range lacking {
			if err := l.put(ctx, &lacking[i], ahead); err != nil {
				return fmt.Errorf("storing content: %w", err)
			}
		}
		return nil
	}
	if bytes <= inTurn {
		return put(ctx, nil)
	}
	return ahead.later(ctx, put)
}

// piece is what is to be stored for a digest.
type piece struct {
	digest string
	put    func(context.Context) error
}

// put stores a piece; one that is stored ahead stays until it is referred to, or not wanted any more.
func (l *Layout) put(ctx context.Context, p *piece, ahead *Ahead) error {
	if ahead == nil {
		return p.put(ctx)
	}
	ahead.free = append(ahead.free, l.Stacks.content.Reserve(p.digest))
	if err := p.put(ctx); err != nil {
		return err
	}
	if ahead.stored == nil {
		ahead.stored = map[string]bool{}
	}
	ahead.stored[p.digest] = true
	return nil
}
