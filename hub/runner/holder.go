package runner

import (
	"fmt"
	"strings"
	"time"

	"flotilla/core/api"
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
	switch len(texts) {
	case 0:
		return lock.Owner
	case 1:
		return fmt.Sprintf("%s %s", lock.Owner, texts[0])
	default:
		return fmt.Sprintf("%s %s and %d more", lock.Owner, texts[0], len(texts)-1)
	}
}

// stateOf is a disruption in a few words: "drift-7-ab12cd34 of n1 since 2026-03-01T12:00:00Z (Draining:
// waiting for pod default/web)".
func stateOf(d *api.Disruption) string {
	nodes := strings.Join(d.Nodes[:min(len(d.Nodes), shownNodes)], ", ")
	if more := len(d.Nodes) - shownNodes; more > 0 {
		nodes += fmt.Sprintf(" and %d more", more)
	}
	if !d.Decided.IsZero() {
		nodes += " since " + d.Decided.UTC().Format(time.RFC3339)
	}
	state := d.Phase
	if d.Message != "" {
		state += ": " + d.Message
	}
	return fmt.Sprintf("%s of %s (%s)", d.ID, nodes, state)
}
