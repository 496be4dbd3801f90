package disruptor

import (
	"context"
	"time"

	"flotilla/bus/watch"
	"flotilla/core/api"
	"flotilla/subjects"
)

const (
	// mostUnlisted is how many nodes are purged at once because no inventory names them.
	mostUnlisted = 1000
	// unconfirmedFor is how long nodes of a member beyond its share may go without an inventory that names them.
	unconfirmedFor = 2 * time.Minute
)

// beyond notes that a member has stored more than its share.
func (d *Disruptor) beyond(member string) {
	if m := d.roster.get(member); !m.excess.over.Swap(true) {
		d.queue.AddAt(member, d.options.Now().Add(settle))
	}
}

// relieve purges what a member has beyond its share: first the nodes that its inventory does not name, which
// makes room for those that it does; m's deciding is held.
func (d *Disruptor) relieve(ctx context.Context, m *memberState) error {
	if !d.feed.Synced() || !m.excess.over.Swap(false) {
		return nil
	}
	err := d.purgeUnlisted(ctx, m)
	if err == nil {
		err = d.purgeSuspects(ctx, m)
	}
	if err == nil {
		err = d.feed.Relieve(ctx, m.name)
	}
	if err != nil {
		m.excess.over.Store(true)
		return err
	}
	d.tellShare(m)
	return nil
}

func (d *Disruptor) purgeUnlisted(ctx context.Context, m *memberState) error {
	d.foldNews(m)
	unlisted := m.View.Unlisted(d.feed.Nodes(m.name))
	for _, node := range unlisted[:min(len(unlisted), mostUnlisted)] {
		if err := d.purgeNode(ctx, m, node); err != nil {
			return err
		}
	}
	return nil
}

// purgeSuspects purges nodes that were told of since the inventory, and that no inventory has named for a while: they
// hold the room of those that are there.
func (d *Disruptor) purgeSuspects(ctx context.Context, m *memberState) error {
	now, before := d.options.Now(), m.excess.suspects
	m.excess.suspects = map[string]time.Time{}
	purged := 0
	for _, node := range m.View.Unconfirmed(d.feed.Nodes(m.name)) {
		since, known := before[node]
		if !known {
			since = now
		}
		if now.Sub(since) < unconfirmedFor || purged == mostUnlisted {
			m.excess.suspects[node] = since
			continue
		}
		purged++
		if err := d.feed.PurgeNode(ctx, m.name, node, func() bool {
			d.foldNews(m)
			return len(m.View.Unconfirmed([]string{node})) > 0
		}); err != nil {
			return err
		}
	}
	if len(m.excess.suspects) > 0 {
		m.excess.over.Store(true)
		d.queue.AddAt(m.name, now.Add(unconfirmedFor))
	}
	return nil
}

// purgeNode purges the state of a node, if still no inventory names it.
func (d *Disruptor) purgeNode(ctx context.Context, m *memberState, node string) error {
	return d.feed.PurgeNode(ctx, m.name, node, func() bool {
		d.foldNews(m)
		return len(m.View.Unlisted([]string{node})) > 0
	})
}

// tellShare warns, once in a while, that a member has more than its share.
func (d *Disruptor) tellShare(m *memberState) {
	use := d.feed.Uses()[m.name]
	if use.Refused > 0 && d.warn(m, &m.excess.warned, api.Audit{
		Object: subjects.KindMember + "/" + m.name, Type: "Warning", Reason: api.ReasonShareExceeded, Message: use.Text(d.store.Share()),
	}) {
		d.options.Log.Warn().Str("member", m.name).Int64("refused", use.Refused).Int64("bytes", use.RefusedBytes).Msg("a member tells of more nodes than its share holds")
	}
}

// Uses is what the states of the nodes of each member take.
func (d *Disruptor) Uses() map[string]watch.EventUse { return d.feed.Uses() }
