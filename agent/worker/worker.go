package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/agent/target"
	"flotilla/bus/loop"
	"flotilla/bus/member"
	"flotilla/core/api"
	"flotilla/core/apply"
	"flotilla/subjects"
)

// Objects is what the worker asks of the member; package target says what each promises.
type Objects interface {
	Owners(ctx context.Context) ([]string, error)
	Intend(ctx context.Context, owner string, refs []api.ObjectRef) error
	Follow(ctx context.Context, order api.Order) (newest api.Order, err error)
	Owned(ctx context.Context, owner string) ([]*unstructured.Unstructured, error)
	Find(ctx context.Context, refs []api.ObjectRef) ([]*unstructured.Unstructured, error)
	Apply(ctx context.Context, w target.Write) (*unstructured.Unstructured, error)
	Preview(ctx context.Context, w target.Write) (*unstructured.Unstructured, error)
	Delete(ctx context.Context, r target.Removal) error
	PodsOf(ctx context.Context, workload *unstructured.Unstructured) ([]*corev1.Pod, error)
	Watch(ctx context.Context) <-chan target.Change
}

// Options of a Worker. Member, Hub, Target and Data are needed.
type Options struct {
	Member string
	Hub    *member.Conn
	Target Objects
	// Data is the directory that the worker keeps its memory in; one worker a directory.
	Data string
	// PollEvery is how often the index is read without being hinted, as bus.PursuitOptions.Every.
	PollEvery time.Duration
	// Workers is how many placements are worked on at once, 4 when 0.
	Workers int
	// Blank is called once when the hub answers that it never placed anything here; nil is not.
	Blank func()
	Log   zerolog.Logger
}

const (
	// watchedIdle and polledIdle are how long a placement that is well is left alone, by whether the
	// target tells of changes (D12).
	watchedIdle = 10 * time.Minute
	polledIdle  = time.Minute
	// settleTime gathers changes of the member before its placement is looked at.
	settleTime = 50 * time.Millisecond
)

// Worker applies what the hub commands. Make it with New, run it once.
type Worker struct {
	o           Options
	store       *diskStore
	index       *index
	shelf       *shelf
	ledger      *ledger
	pace        *pace
	queue       *loop.Queue
	corrections *corrections
	previews    previews
	member      memberOrder

	commands  *member.Follower
	blankOnce sync.Once

	mu       sync.Mutex
	unlisted []string
	trouble  string
}

// New opens the data directory and goes on with what it finds there.
func New(o Options) (*Worker, error) {
	if o.Workers <= 0 {
		o.Workers = 4
	}
	s, err := openStore(o.Data, o.Member, o.Hub.Now)
	if err != nil {
		return nil, err
	}
	x, err := loadIndex(o.Member, s)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w; move the journal away to start without it: nothing that runs is removed", err), s.close())
	}
	l := loadLedger(s, o.Hub)
	w := &Worker{
		o: o, store: s, index: x, ledger: l, corrections: newCorrections(l.last, o.Hub.Now()),
		shelf: &shelf{store: s, hub: o.Hub, read: map[string]readWork{}},
	}
	w.commands = w.pursuit()
	w.queue = loop.New(loop.Options{Workers: o.Workers, Now: o.Hub.Now, Failed: func(key string, err error, delay time.Duration) {
		o.Log.Warn().Err(err).Str("placement", key).Dur("again", delay).Msg("looking at a placement")
	}})
	return w, nil
}

// Run works until ctx ends, and closes the data directory.
func (w *Worker) Run(ctx context.Context) error {
	changes := w.o.Target.Watch(ctx)
	idle := watchedIdle
	if changes == nil {
		idle = polledIdle
	}
	w.pace = newPace(idle)
	w.o.Hub.KeepResults(subjects.CommandPlacement, func(placement string) bool { return !w.index.known() || len(w.index.of(placement)) > 0 })
	for _, placement := range w.index.placements() {
		w.queue.Add(placement)
	}
	w.survey(ctx)
	w.housekeep(ctx)
	ctx, cancel := context.WithCancel(ctx)
	wait := w.queue.Start(ctx, w.reconcile)
	var watching sync.WaitGroup
	watching.Go(func() { w.watch(ctx, changes) })
	failed := w.commands.Run(ctx)
	cancel()
	watching.Wait()
	wait()
	return errors.Join(failed, w.store.flush(), w.store.close())
}

// watch wakes the placements whose objects changed on the member.
func (w *Worker) watch(ctx context.Context, changes <-chan target.Change) {
	for {
		select {
		case <-ctx.Done():
			return
		case c, ok := <-changes:
			if !ok {
				return
			}
			w.changed(ctx, c)
		}
	}
}

func (w *Worker) changed(ctx context.Context, c target.Change) {
	strangers := false
	for _, text := range c.Owners {
		owner, ok := apply.ParseOwner(text)
		switch {
		case !ok:
		case w.index.lists(owner):
			w.queue.AddAt(owner.Placement, w.o.Hub.Now().Add(settleTime))
		default:
			strangers = true
		}
	}
	if strangers {
		w.survey(ctx)
	}
	if c.Health || c.Kinds {
		for _, placement := range w.index.placements() {
			w.queue.AddAt(placement, w.o.Hub.Now().Add(settleTime))
		}
	}
}

// survey notes which placements run here that the index does not mention. While the member cannot be
// read, what was last known stands.
func (w *Worker) survey(ctx context.Context) {
	owners, err := w.o.Target.Owners(ctx)
	if err != nil {
		return
	}
	var unlisted []string
	for _, text := range owners {
		if owner, ok := apply.ParseOwner(text); ok && !w.index.lists(owner) {
			unlisted = append(unlisted, owner.Placement)
		}
	}
	slices.Sort(unlisted)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unlisted = slices.Compact(unlisted)
}

// housekeep drops content that no command needs any more.
func (w *Worker) housekeep(ctx context.Context) {
	w.survey(ctx)
	old := func(written time.Time) bool { return w.o.Hub.Now().Sub(written) >= sweepAge }
	if err := w.store.sweep(w.shelf.inUse(append(w.index.works(), w.shelf.works()...)), old); err != nil {
		w.o.Log.Warn().Err(err).Msg("sweeping the content cache")
	}
}

// Holds is the order of the command that is followed, or the newer one that the member remembers; zero when there is none. The hub gives
// newer ones.
func (w *Worker) Holds() api.Order { return w.member.newest(w.index.order()) }

// Unlisted lists, sorted, the placements that run here and that the command does not mention.
func (w *Worker) Unlisted() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.unlisted)
}

// Trouble says why the hub's newest command is not followed, empty when it is.
func (w *Worker) Trouble() string {
	if err := w.member.trouble(w.index.order()); err != nil {
		return err.Error()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.trouble
}

func (w *Worker) setTrouble(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trouble = text
}

// Look reads the newest command again, soon.
func (w *Worker) Look() { w.commands.Look() }

// Placements is the number of placements that the command lists.
func (w *Worker) Placements() int { return len(w.index.placements()) }

// Unreported is the number of results that the hub does not have yet.
func (w *Worker) Unreported() int { return w.ledger.unreported() }
