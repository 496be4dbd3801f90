package renderer

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"flotilla/bus/loop"
	"flotilla/bus/store"
	"flotilla/bus/watch"
	"flotilla/core/api"
	"flotilla/subjects"
)

// workers is how many placements are looked at at once.
const workers = 2

// behind is when a placement is looked at again whose caches were behind, again when one whose objects could not be read.
const (
	behind = time.Second
	again  = time.Minute
)

// Keys of the queue are "placement:<placement>" and "member:<member>".
const (
	placementKey = "placement:"
	memberKey    = "member:"
)

// Options of a Renderer. The zero value is for production.
type Options struct {
	// Runs is told of every key that is looked at; nil tells nobody.
	Runs func(key string)
	Log  zerolog.Logger
}

// Renderer writes renderings during one term of leadership.
type Renderer struct {
	store   *store.Store
	options Options
	records *records
	queue   *loop.Queue
	labels  watch.Views[string] // of members, as last rendered with
	changes watch.Changes       // of placements
	// followed are placements; each is used by one worker at a time.
	followed watch.Kept[placement]
}

// New returns a renderer on an open store; it writes nothing before Run.
func New(store *store.Store, o Options) *Renderer {
	r := &Renderer{store: store, options: o, records: newRecords(store)}
	r.queue = loop.New(loop.Options{Workers: workers, Now: store.Now, Failed: r.failed, Runs: o.Runs})
	return r
}

// Run writes renderings until ctx ends.
func (r *Renderer) Run(ctx context.Context) error {
	if err := r.store.State.WaitSynced(ctx); err != nil {
		return fmt.Errorf("starting to render: %w", err)
	}
	r.fillLabels()
	r.records.placements.OnChange(r.turned)
	r.records.schedules.OnChange(r.turned)
	r.records.snapshots.OnChange(func(name string) { r.turned(subjects.Snapshots.Group(name)) })
	r.records.renderings.OnChange(r.turned)
	r.records.staged.OnChange(r.turned)
	r.records.releases.OnChange(func(name string) { r.queue.Add(placementKey + name) })
	r.records.overrides.OnChange(func(string) { r.turnedAll() })
	member := func(name string) { r.queue.Add(memberKey + name) }
	r.records.members.OnChange(member)
	r.records.seen.OnChange(member)
	r.queue.Run(ctx, r.work)
	return nil
}

// turned wakes a placement of which a record changed that is rendered.
func (r *Renderer) turned(placement string) {
	r.changes.Whole(placement)
	r.queue.Add(placementKey + placement)
}

// turnedAll wakes all placements: an override may touch any.
func (r *Renderer) turnedAll() {
	for _, name := range r.records.placements.Names() {
		r.turned(name)
	}
}

func (r *Renderer) failed(key string, err error, delay time.Duration) {
	r.options.Log.Warn().Err(err).Str("key", key).Dur("retry", delay).Msg("rendering")
}

func (r *Renderer) work(ctx context.Context, key string) (time.Time, error) {
	if !r.store.State.Synced() {
		return r.store.Now().Add(behind), nil
	}
	if member, isMember := strings.CutPrefix(key, memberKey); isMember {
		return time.Time{}, r.wakeFor(member)
	}
	name := strings.TrimPrefix(key, placementKey)
	next, err := r.place(ctx, name)
	if err != nil {
		r.changes.Whole(name)
	}
	return next, err
}

// fillLabels takes in every member as it is: all placements are looked at anyway, not once more for each.
func (r *Renderer) fillLabels() {
	for _, name := range r.records.members.Names() {
		m, err := r.records.member(name)
		r.labels.News(name, labelText(m), err == nil && m != nil)
	}
}

// wakeFor wakes the rendered placements on a member whose labels changed.
func (r *Renderer) wakeFor(member string) error {
	m, err := r.records.member(member)
	if news := r.labels.News(member, labelText(m), err == nil && m != nil); err != nil || !news {
		return err
	}
	for _, placement := range r.records.bound.Of(member) {
		if r.records.renderings.Revision(placement) != 0 {
			r.turned(placement)
		}
	}
	return nil
}

// labelText is equal for equal labels.
func labelText(m *api.Member) string {
	if m == nil {
		return ""
	}
	b := &strings.Builder{}
	for _, key := range slices.Sorted(maps.Keys(m.Labels)) {
		fmt.Fprintf(b, "%q=%q ", key, m.Labels[key])
	}
	return b.String()
}
