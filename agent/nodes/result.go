package nodes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus"
	"flotilla/bus/loop"
	"flotilla/bus/member"
	"flotilla/core/api"
	"flotilla/subjects"
)

const (
	// progressEvery is the least time between two results of one disruption that differ in what is
	// waited for alone.
	progressEvery = time.Second
	// maxMessage bounds the message of a result.
	maxMessage = 2 << 10
)

// results bring the newest result of each disruption to the hub.
type results struct {
	hub   *member.Conn
	log   zerolog.Logger
	queue *loop.Queue // by id

	mu     sync.Mutex
	latest map[string]*newest
}

// newest is the newest result of a disruption.
type newest struct {
	api.DisruptionResult
	serial uint64
	sent   uint64    // serial of the one the hub has
	urgent bool      // more than the message is news
	at     time.Time // when it was sent
}

func newResults(hub *member.Conn, log zerolog.Logger) *results {
	r := &results{hub: hub, log: log, latest: map[string]*newest{}}
	r.queue = loop.New(loop.Options{Now: hub.Now, MinDelay: 200 * time.Millisecond, Failed: func(id string, err error, delay time.Duration) {
		log.Warn().Err(err).Str("disruption", id).Dur("again", delay).Msg("the result of a disruption could not be told")
	}})
	return r
}

// tell makes one the result of its disruption. What is no news is not told.
func (r *results) tell(one api.DisruptionResult) {
	one.Message = clip(one.Message, maxMessage)
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.latest[one.ID]
	if old == nil {
		old = &newest{}
		r.latest[one.ID] = old
	}
	steps := old.serial == 0 || !sameStep(&old.DisruptionResult, &one)
	if !steps && old.Message == one.Message {
		return
	}
	one.Changed = metav1.NewTime(r.hub.Now().UTC().Truncate(time.Second))
	old.DisruptionResult, old.urgent = one, old.urgent || steps
	old.serial++
	r.queue.Add(one.ID)
}

// sameStep reports whether two results differ in their messages at most.
func sameStep(a, b *api.DisruptionResult) bool {
	return a.Phase == b.Phase && a.Order == b.Order && slices.Equal(a.Gone, b.Gone) &&
		slices.EqualFunc(a.Replacements, b.Replacements, func(x, y api.NodeReplacement) bool {
			return x.Name == y.Name && x.Node == y.Node && x.Initialized == y.Initialized && x.Failed == y.Failed
		})
}

// forget drops the result of a disruption that the hub does not ask about any more.
func (r *results) forget(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.latest, id)
	r.hub.DropResult(subjects.CommandDisruption, id)
}

// put hands over the result of a disruption.
func (r *results) put(_ context.Context, id string) (time.Time, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	one := r.latest[id]
	if one == nil || one.sent == one.serial {
		return time.Time{}, nil
	}
	now := r.hub.Now()
	if again := one.at.Add(progressEvery); !one.urgent && now.Before(again) {
		return again, nil
	}
	if err := r.store(&one.DisruptionResult); err != nil {
		return time.Time{}, err
	}
	one.urgent, one.at, one.sent = false, now, one.serial
	return time.Time{}, nil
}

// store puts a result. One that is too large is put without the names of the nodes that are gone: the hub
// was told of each.
func (r *results) store(result *api.DisruptionResult) error {
	err := r.hub.TellResult(subjects.CommandDisruption, result.ID, result)
	if !errors.Is(err, bus.ErrTooLarge) {
		return err
	}
	short := *result
	short.Gone, short.Message = nil, fmt.Sprintf("%d nodes are gone, too many to name", len(result.Gone))
	return r.hub.TellResult(subjects.CommandDisruption, result.ID, short)
}

func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-3], "") + "..."
}
