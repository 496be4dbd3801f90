package places

import (
	"context"

	"flotilla/core/api"
)

// mostForwards is how many requests that other hubs forward are worked on or wait at once, of verbs that share places.
const mostForwards = 2048

// apart are verbs that find places whatever others ask: those by which somebody stops what happens, and those that a client has answered before
// it can ask anything. The latter are asked by everybody, but never take long, so they have places of their own too.
var apart = map[string]int{
	api.VerbFreeze: stops, api.VerbUnfreeze: stops, api.VerbUserRevoke: stops, api.VerbMemberRevoke: stops,
	api.VerbKey: before, api.VerbSession: before,
}

// Whose places a verb takes.
const (
	usual = iota
	stops
	before
)

// Stops says that a verb is one by which somebody stops what happens, or keeps somebody out.
func Stops(verb string) bool { return apart[verb] == stops }

// ByVerb are places of requests, of which those of some verbs are apart. Its methods may be called from any goroutine.
type ByVerb [before + 1]*group

type group struct {
	*Places
	forwards chan struct{} // one for each request that another hub has forwarded
}

// NewByVerb returns places for so many requests that run at once, and for so many over NATS that run or wait, and as many again for each sort
// of verbs that are apart.
func NewByVerb(running, most int) *ByVerb {
	b := &ByVerb{}
	for i := range b {
		b[i] = &group{New(running, most), make(chan struct{}, mostForwards)}
	}
	return b
}

// Join lines a request over NATS up, or says why it is refused.
func (b *ByVerb) Join(verb, person string) (*Line, error) { return b[apart[verb]].Join(person) }

// Enter waits until a request of a person may run, see Places.Enter.
func (b *ByVerb) Enter(ctx context.Context, verb, person string) (leave func(), err error) {
	return b[apart[verb]].Enter(ctx, person)
}

// Forward counts a request in that another hub has forwarded, until leave is called; ok is false where there are too many.
func (b *ByVerb) Forward(verb string) (leave func(), ok bool) {
	forwards := b[apart[verb]].forwards
	select {
	case forwards <- struct{}{}:
		return func() { <-forwards }, true
	default:
		return nil, false
	}
}
