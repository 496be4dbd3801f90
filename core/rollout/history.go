package rollout

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"flotilla/core/api"
)

// History are the snapshots of a placement that are kept, oldest first.
type History []*api.Snapshot

// Newest is the last one, nil when there is none.
func (h History) Newest() *api.Snapshot {
	if len(h) == 0 {
		return nil
	}
	return h[len(h)-1]
}

// Follow is the snapshot that is to be the newest when a placement selects what selected holds: nil when the newest is
// that already, or is pinned and something else is selected than when it was. Ended says that selected ends a pin.
func (h History) Follow(selected *api.Snapshot) (next *api.Snapshot, ended bool) {
	last := h.Newest()
	switch {
	case last == nil:
		return selected, false
	case last.Pinned() && last.Undo.Selected == digestOf(selected):
		return nil, false
	case last.Pinned():
		return selected, true
	case alike(last, selected):
		return nil, false
	}
	return selected, false
}

// Undo is the snapshot with which members go back to a revision, 0 for the newest that differs from what they have; nil
// when they have it. It is pinned unless it is what the placement selects. The error says why there is no going back.
func (h History) Undo(selected *api.Snapshot, revision int64) (*api.Snapshot, error) {
	target, err := h.target(revision)
	if err != nil || target == nil {
		return nil, err
	}
	next := *selected
	next.Manifests, next.Work, next.Packs, next.Error = target.Manifests, target.Work, target.Packs, ""
	next.Undo = &api.Undo{Of: target.Index}
	if !alike(&next, selected) {
		next.Undo.Selected = digestOf(selected)
	}
	return &next, nil
}

// target is the snapshot of a revision, nil when the newest is like it.
func (h History) target(revision int64) (*api.Snapshot, error) {
	last := h.Newest()
	if revision == 0 {
		for i := len(h) - 2; i >= 0; i-- {
			if h[i].Error == "" && !alike(h[i], last) {
				return h[i], nil
			}
		}
		return nil, errors.New("there is no earlier revision of other content to go back to")
	}
	at := slices.IndexFunc(h, func(s *api.Snapshot) bool { return s.Index == revision })
	switch {
	case at < 0:
		return nil, fmt.Errorf("revision %d is not kept, expected %s", revision, h.usable())
	case h[at].Error != "":
		return nil, fmt.Errorf("revision %d holds nothing, for its selectors could not be followed (%s), expected %s", revision, h[at].Error, h.usable())
	case alike(h[at], last):
		return nil, nil
	}
	return h[at], nil
}

// usable names the revisions to which one may go back.
func (h History) usable() string {
	var names []string
	for _, s := range h {
		if s.Error == "" {
			names = append(names, fmt.Sprint(s.Index))
		}
	}
	if len(names) == 0 {
		return "one, and none is kept"
	}
	return "one of " + strings.Join(names, ", ")
}

// Resume is the snapshot that follows a pinned one when members are to get what the placement selects again; nil when the
// newest is not pinned.
func (h History) Resume(selected *api.Snapshot) *api.Snapshot {
	if !h.Newest().Pinned() {
		return nil
	}
	return selected
}

// alike says that two snapshots hold the same.
func alike(a, b *api.Snapshot) bool {
	return a.Error == b.Error && slices.Equal(a.Manifests, b.Manifests)
}

// digestOf is of what a snapshot holds: names and keyed digests.
func digestOf(s *api.Snapshot) string {
	text, err := json.Marshal([]any{s.Error, s.Manifests})
	if err != nil {
		return "unreadable"
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}
