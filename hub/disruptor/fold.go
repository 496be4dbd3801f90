package disruptor

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/hub/disruptor/told"
	"flotilla/subjects"
)

// A member whose news took some time to take in is left alone for so many times that: one that tells much
// waits for itself and for no other.
const (
	restShare = 4
	mostRest  = 2 * time.Second
)

// fold takes what arrived into the view of a member; its deciding is held. Where something newer cannot be
// read, what was known before is not acted on.
func (d *Disruptor) fold(m *memberState) {
	d.timed(m, m.Fold)
	if d.pooled() {
		m.States = nil // nobody lays the view down
	}
}

// foldUnlisted is fold for what is stored of nodes that the inventory does not name.
func (d *Disruptor) foldUnlisted(m *memberState) {
	d.timed(m, func() told.Reading {
		return m.FoldUnlisted(func() []string { return d.feed.Nodes(m.name) })
	})
}

// foldNews is fold for those who ask only what the inventory does not name.
func (d *Disruptor) foldNews(m *memberState) {
	if d.wanted(m) {
		d.fold(m)
	} else {
		d.foldUnlisted(m)
	}
}

func (d *Disruptor) timed(m *memberState, takeIn func() told.Reading) {
	began := d.options.Now()
	d.took(m, takeIn())
	now := d.options.Now()
	m.excess.rests.Store(now.Add(min(restShare*now.Sub(began), mostRest)).UnixNano())
}

// took notes what came of taking news in.
func (d *Disruptor) took(m *memberState, r told.Reading) {
	if r.Decoded {
		m.kept = d.options.Now().Add(askedFor)
	}
	for _, fault := range r.Unreadable {
		d.tellUnreadable(m, fault.Node, fault.Err)
	}
}

// tellUnreadable counts and logs what cannot be read, and warns of it once in a while; m's deciding is held.
func (d *Disruptor) tellUnreadable(m *memberState, node string, err error) {
	object, what := subjects.KindMember+"/"+m.name, "what its agent tells of its nodes"
	if node != "" {
		object, what = api.AuditObject(api.AuditNode, m.name, node), "what the agent tells of it"
	}
	d.options.Metrics.unreadable.Inc()
	d.lines.Of(m.name, d.options.Log.Error).Err(err).Str("member", m.name).Str("node", node).Msg("what the agent tells of nodes cannot be read")
	d.warn(m, &m.warned, api.Audit{
		Object: object, Type: "Warning", Reason: "NodeUnreadable",
		Message: fmt.Sprintf("%s cannot be read, and nothing is decided that depends on it: %v", what, err),
	})
}

// warnEvery is the least time between two warnings of one kind about one member.
const warnEvery = 10 * time.Minute

// warn records a warning about a member unless the last of its kind was lately, and reports whether it did; m's deciding
// is held.
func (d *Disruptor) warn(m *memberState, last *time.Time, e api.Audit) bool {
	now := d.options.Now()
	if now.Before(last.Add(warnEvery)) {
		return false
	}
	*last = now
	e.At, e.Member, e.By = metav1.NewTime(now), m.name, by
	d.store.Audit.Record(e)
	return true
}
