package dispatcher

import (
	"context"
	"time"

	"flotilla/bus/streams"
	"flotilla/core/api"
	"flotilla/subjects"
)

// placements is the index of a member. What the queue has yet to take over is taken over first: a command must not say
// again what was before.
func (d *Dispatcher) placements(member string) (command, error) {
	for _, placement := range d.unfollowed.List() {
		_ = d.follow(placement) // the queue tells of what cannot be read
	}
	to, err := d.sealingKey(member)
	if err != nil {
		return command{}, err
	}
	now := d.index.look(member)
	digest, err := d.indexDigest(to, &now)
	return command{empty: now.lists == 0, digest: digest, to: to, index: now}, err
}

// indexDigest is that of all that an index, sealed to a key, asks for.
func (d *Dispatcher) indexDigest(to string, of *view) (string, error) {
	return d.digestOf([]any{to, d.options.Level, d.store.Keys.Sealing(), of.sum[:]})
}

// sealingKey is the key that a member's index is sealed to, empty where its agent made none. A record that cannot be
// read is no reason to send an index in clear.
func (d *Dispatcher) sealingKey(member string) (string, error) {
	identity, _, _, err := d.identities.Find(member)
	return identity.SealingKey, err
}

// publishIndex stores the index of a member: what changed of it, or else the whole of it.
func (d *Dispatcher) publishIndex(ctx context.Context, to address, wanted *command, order api.Order, behind bool, now time.Time) error {
	head := d.sent.head(to)
	head.Member, head.Kind = to.member, to.kind
	if !behind && d.mayChange(&head, wanted) {
		return d.publishChange(ctx, to, &head, order, now)
	}
	of, entries := d.index.all(to.member)
	digest, err := d.indexDigest(wanted.to, &of)
	if err != nil {
		return err
	}
	d.locate(entries)
	head.Digest, head.Order, head.To, head.Position = digest, order, wanted.to, api.IndexPosition{Base: order}
	head.Sequence, err = d.store.Commands.Publish(ctx, head, api.PlacementCommand{
		Header: api.Header{Kind: api.KindPlacementCommand, Level: d.options.Level}, Member: to.member, Order: order, Entries: entries,
		Session: d.store.Keys.Session(to.member, wanted.to, order),
	}, d.sent.head(to).Sequence)
	head.Newest = head.Sequence
	return d.published(to, &head, of.at, err, now)
}

// mayChange says that this term stored the index whole and knows all its changes, and that there is a slot for one more
// that is less than the index.
func (d *Dispatcher) mayChange(head *streams.CommandHead, wanted *command) bool {
	return head.Sequence > 0 && head.To != "" && head.To == wanted.to && head.Position.Number < subjects.CommandSlots &&
		wanted.index.changed > 0 && wanted.index.changed < max(2, wanted.index.lists)
}

func (d *Dispatcher) publishChange(ctx context.Context, to address, head *streams.CommandHead, order api.Order, now time.Time) error {
	of, entries, gone := d.index.changes(to.member)
	digest, err := d.indexDigest(head.To, &of)
	if err != nil {
		return err
	}
	d.locate(entries)
	after := head.Order
	head.Digest, head.Order = digest, order
	head.Position.Number++
	head.Newest, err = d.store.Commands.PublishChange(ctx, *head, d.store.Keys.Session(to.member, head.To, head.Position.Base), api.PlacementDelta{
		Header: api.Header{Kind: api.KindPlacementDelta, Level: d.options.Level}, Member: to.member, Order: order, Position: head.Position, After: after,
		Entries: entries, Gone: gone,
	})
	return d.published(to, head, of.at, err, now)
}

// locate adds where the works of entries lie, and their keys.
func (d *Dispatcher) locate(entries []api.IndexEntry) {
	for i := range entries {
		if entry := &entries[i]; entry.Work != "" && !entry.Withdrawn {
			entry.Piece = d.store.Keys.Piece(entry.Work)
		}
	}
}
