package dispatcher

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rs/zerolog"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus"
	"flotilla/bus/loop"
	"flotilla/core/api"
	"flotilla/subjects"
)

// DefaultInterval is how long a member waits at least between two commands.
const DefaultInterval = 200 * time.Millisecond

// workers is how many members are written to at once.
const workers = 8

// Options of a Dispatcher. The zero value is for production.
type Options struct {
	// Interval is DefaultInterval when 0.
	Interval time.Duration
	// Level is that of the commands it writes, api.Level when 0.
	Level int
	Log   zerolog.Logger
}

// Dispatcher publishes commands during one term of leadership.
type Dispatcher struct {
	store    *bus.Store
	options  Options
	releases *bus.Table[api.Release]
	seen     *bus.Table[api.MemberRecord]
	queue    *loop.Queue
	index    *index
	sent     *sent
}

// Keys of the queue are "release:<placement>" and "member:<member>".
const (
	releaseKey = "release:"
	memberKey  = "member:"
)

// New returns a dispatcher on an open store; it publishes nothing before Run.
func New(store *bus.Store, o Options) *Dispatcher {
	if o.Interval == 0 {
		o.Interval = DefaultInterval
	}
	if o.Level == 0 {
		o.Level = api.Level
	}
	d := &Dispatcher{
		store: store, options: o, index: newIndex(), sent: newSent(),
		releases: bus.TableOf[api.Release](store.State, subjects.Releases),
		seen:     bus.TableOf[api.MemberRecord](store.State, subjects.Members),
	}
	d.queue = loop.New(loop.Options{Workers: workers, Failed: d.failed})
	return d
}

// Run publishes until ctx ends. It reads the heads of all stored commands first, so that what is stored
// already is not sent again.
func (d *Dispatcher) Run(ctx context.Context) error {
	if err := d.store.State.WaitSynced(ctx); err != nil {
		return fmt.Errorf("starting to dispatch: %w", err)
	}
	heads, err := d.store.Commands.List(ctx)
	if err != nil {
		return fmt.Errorf("listing commands: %w", err)
	}
	for _, head := range heads {
		if head.Kind == subjects.CommandPlacement {
			d.sent.remember(head)
		}
	}
	d.releases.OnChange(func(name string) { d.queue.Add(releaseKey + name) })
	d.seen.OnChange(d.noteRecord)
	// Every release is in the index before the first command goes out: a command made of half of them
	// would lack placements.
	for _, release := range d.releases.All() {
		d.follow(release.Name)
	}
	for _, head := range heads {
		d.queue.Add(memberKey + head.Member)
	}
	d.queue.Run(ctx, d.work)
	return nil
}

func (d *Dispatcher) failed(key string, err error, delay time.Duration) {
	d.options.Log.Warn().Err(err).Str("key", key).Dur("retry", delay).Msg("dispatching")
}

// noteRecord wakes a member whose agent holds a command newer than any that was sent, or was updated
// since it was too old for its command.
func (d *Dispatcher) noteRecord(member string) {
	record, _, found := d.seen.Get(member)
	if !found {
		return
	}
	if record.Holds.Compare(d.sent.head(member).Order) > 0 || d.sent.outdated(member, record.AgentLevel) {
		d.queue.Add(memberKey + member)
	}
}

func (d *Dispatcher) work(ctx context.Context, key string) (time.Time, error) {
	if placement, isRelease := strings.CutPrefix(key, releaseKey); isRelease {
		d.follow(placement)
		return time.Time{}, nil
	}
	return d.dispatch(ctx, strings.TrimPrefix(key, memberKey))
}

// follow takes a release into the index and wakes the members it changed.
func (d *Dispatcher) follow(placement string) {
	var current *api.Release
	if release, _, found := d.releases.Get(placement); found {
		current = &release
	}
	for _, member := range d.index.set(placement, current) {
		d.queue.Add(memberKey + member)
	}
}

// dispatch publishes the index of a member when it is not what the member was sent, or when its agent
// holds something newer.
func (d *Dispatcher) dispatch(ctx context.Context, member string) (time.Time, error) {
	if !d.store.State.Synced() {
		return time.Time{}, bus.ErrNotSynced
	}
	now := time.Now()
	if free := d.sent.freeAt(member, d.options.Interval); now.Before(free) {
		return free, nil
	}
	head := d.sent.head(member)
	record, _, _ := d.seen.Get(member)
	command := api.PlacementCommand{
		Header: api.Header{Kind: api.KindPlacementCommand, Level: d.options.Level}, Member: member, Entries: d.index.entries(member),
	}
	digest, err := digestOf(&command)
	if err != nil {
		return time.Time{}, err
	}
	stored := head.Sequence > 0
	behind := record.Holds.Compare(head.Order) > 0
	if stored && digest == head.Digest && !behind || !stored && len(command.Entries) == 0 {
		return time.Time{}, nil
	}
	if record.AgentLevel > 0 && record.AgentLevel < d.options.Level {
		d.reportLevel(member, record.AgentLevel)
		return time.Time{}, nil
	}
	command.Order = following(d.store.Term, head.Order, record.Holds)
	return time.Time{}, d.publish(ctx, &command, digest, head.Sequence, now)
}

func (d *Dispatcher) publish(ctx context.Context, command *api.PlacementCommand, digest string, last uint64, now time.Time) error {
	head := bus.CommandHead{
		Member: command.Member, Kind: subjects.CommandPlacement, Digest: digest, Order: command.Order,
	}
	sequence, err := d.store.Commands.Publish(ctx, head, command, last)
	if errors.Is(err, bus.ErrConflict) {
		return d.reread(ctx, command.Member, err)
	}
	if err != nil {
		return fmt.Errorf("publishing the index of %s: %w", command.Member, err)
	}
	head.Sequence = sequence
	d.sent.remember(head)
	d.sent.at(command.Member, now)
	return nil
}

// reread learns what is stored for a member after a write that met something else there; the error that
// brought it here is returned, so that the member is looked at again.
func (d *Dispatcher) reread(ctx context.Context, member string, conflict error) error {
	_, head, err := d.store.Commands.Get(ctx, member, subjects.CommandPlacement)
	switch {
	case errors.Is(err, bus.ErrNotFound):
		d.sent.remember(bus.CommandHead{Member: member, Kind: subjects.CommandPlacement})
	case err != nil:
		return fmt.Errorf("reading the command of %s: %w", member, err)
	default:
		d.sent.remember(head)
	}
	return fmt.Errorf("publishing the index of %s: %w", member, conflict)
}

// reportLevel tells once that a member's agent cannot read what it would be sent.
func (d *Dispatcher) reportLevel(member string, level int) {
	if !d.sent.firstReport(member, level) {
		return
	}
	d.store.Audit.Record(api.Audit{
		Header: api.NewHeader(api.KindAudit), At: metav1.Now(), Object: subjects.KindMember + "/" + member, Member: member,
		Type: "Warning", Reason: "LevelTooLow", By: "dispatcher",
		Message: fmt.Sprintf("its agent reads level %d, its command is of level %d: update the agent", level, d.options.Level),
	})
	d.options.Log.Warn().Str("member", member).Int("level", level).Msg("agent is too old for its command")
}

// digestOf is the digest of a command without its order.
func digestOf(command *api.PlacementCommand) (string, error) {
	unordered := *command
	unordered.Order = api.Order{}
	body, err := json.Marshal(unordered)
	if err != nil {
		return "", fmt.Errorf("encoding the index of %s: %w", command.Member, err)
	}
	return bus.Digest(body), nil
}
