package runner

import (
	"fmt"
	"time"

	"flotilla/core/api"
	"flotilla/core/phrase"
	"flotilla/subjects"
)

// shownNodes is how many nodes a text names.
const shownNodes = 3

// holderOf names who holds the lock of a member, for people: of a disruption of its nodes also which one
// and what that waits for. That changes every few seconds and wakes no run: what runs tell of it is as old
// as their poll.
func (r *Runner) holderOf(lock *api.MemberLock) string {
	if lock.Holder != subjects.CommandDisruption+"/"+lock.Member {
		return lock.Owner
	}
	record, _, _ := r.records.disruptions.Get(lock.Member)
	var texts []string
	for i := range record.Disruptions {
		if d := &record.Disruptions[i]; d.Ended.IsZero() {
			texts = append(texts, stateOf(d))
		}
	}
	if len(texts) == 0 {
		return lock.Owner
	}
	return lock.Owner + " " + phrase.Names(texts, 1)
}

// stateOf is a disruption in a few words: "drift-7-ab12cd34 of n1 since 2026-03-01T12:00:00Z (Draining:
// waiting for pod default/web)".
func stateOf(d *api.Disruption) string {
	nodes := phrase.Names(d.Nodes, shownNodes)
	if !d.Decided.IsZero() {
		nodes += " since " + d.Decided.UTC().Format(time.RFC3339)
	}
	state := d.Phase
	if d.Message != "" {
		state += ": " + d.Message
	}
	return fmt.Sprintf("%s of %s (%s)", d.ID, nodes, state)
}
