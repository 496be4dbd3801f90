package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"

	"flotilla/core/api"
	"flotilla/tests/elsewhen"
)

const (
	// Pauses between two looks at placements: ten times what the last look took, so that looking costs little.
	leastPause = 10 * time.Millisecond
	mostPause  = 250 * time.Millisecond
	// stuckAfter is after how long without any progress a step is given up.
	stuckAfter = 3 * time.Minute
)

// pending are placements that were applied and that a client has not seen available.
type pending struct {
	fleet *fleet
	sent  map[*placement]time.Time
	// took is how long each was under way, from the moment its apply was sent, delivered to how many members all were
	// together, and looks how often was looked.
	took      []time.Duration
	delivered int
	looks     int
	moved     time.Time // when one was last applied or seen
}

func newPending(f *fleet) *pending {
	return &pending{fleet: f, sent: map[*placement]time.Time{}, moved: elsewhen.Now()}
}

// apply writes the content of a placement, after fewer than atOnce others are under way.
func (w *pending) apply(ctx context.Context, p *placement, atOnce int) error {
	if err := w.until(ctx, atOnce-1); err != nil {
		return err
	}
	p.writes++
	documents := p.documents()
	w.sent[p] = elsewhen.Now()
	w.moved = w.sent[p]
	if err := w.fleet.apply(ctx, string(uuid.NewUUID()), documents); err != nil {
		return fmt.Errorf("applying %s: %w", p.name(), err)
	}
	return nil
}

// until looks until no more than so many are under way.
func (w *pending) until(ctx context.Context, most int) error {
	for len(w.sent) > most {
		began := elsewhen.Now()
		if err := w.look(ctx); err != nil {
			return err
		}
		if elsewhen.Since(w.moved) > stuckAfter {
			return fmt.Errorf("no placement became available in %s; under way are %s", stuckAfter, w)
		}
		if len(w.sent) > most && !pause(ctx, min(max(10*elsewhen.Since(began), leastPause), mostPause)) {
			return fmt.Errorf("%w; under way are %s", context.Cause(ctx), w)
		}
	}
	return nil
}

// String names those under way.
func (w *pending) String() string {
	var names []string
	for p := range w.sent {
		names = append(names, p.name())
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// look asks for the counts of all that are under way, as `flotilla get` does.
func (w *pending) look(ctx context.Context) error {
	w.looks++
	byName, waves := map[string]*placement{}, map[string]struct{}{}
	for p := range w.sent {
		byName[p.name()] = p
		waves[p.wave] = struct{}{}
	}
	request := api.ListRequest{
		Kind: api.KindClusterResourcePlacement, Brief: true,
		LabelSelector: labelWave + " in (" + strings.Join(slices.Sorted(maps.Keys(waves)), ",") + ")",
	}
	for {
		var answer api.ListResponse
		if err := w.fleet.request(ctx, api.VerbList, request, &answer); err != nil {
			return fmt.Errorf("looking at placements: %w", err)
		}
		now := elsewhen.Now()
		for _, item := range answer.Items {
			if err := w.see(byName, item, now); err != nil {
				return err
			}
		}
		if answer.Continue == "" {
			return nil
		}
		request.Continue = answer.Continue
	}
}

func (w *pending) see(byName map[string]*placement, item json.RawMessage, now time.Time) error {
	var shown api.Placement
	if err := json.Unmarshal(item, &shown); err != nil {
		return fmt.Errorf("reading a placement: %w", err)
	}
	if p := byName[shown.Name]; p != nil && p.available(shown.Status) {
		w.took = append(w.took, now.Sub(w.sent[p]))
		w.delivered += p.members
		w.moved = now
		delete(w.sent, p)
	}
	return nil
}

// available says that the newest content runs on every member that the placement is for.
func (p *placement) available(s *api.PlacementStatus) bool {
	return s != nil && s.ObservedSnapshot == strconv.Itoa(p.writes) &&
		s.Counts.Picked == p.members && s.Counts.Current == p.members && s.Counts.Available == p.members && s.Counts.Failed == 0
}
