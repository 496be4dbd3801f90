package status

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// refuse MEMBER REASON… says that overrides cannot be followed on a member.
func (w *world) refuse(_ *testing.T, args []string) string {
	if w.in.Release == nil {
		w.in.Release = &api.Release{}
	}
	w.in.Release.Held = append(w.in.Release.Held, api.Held{Member: args[0], Reason: strings.Join(args[1:], " "), Overridden: true})
	return ""
}

// override MEMBER NAME… says by which overrides what is released to a member was made.
func (w *world) override(_ *testing.T, args []string) string {
	e := w.entry(args[0])
	e.Overrides = nil
	for _, name := range args[1:] {
		e.Overrides = append(e.Overrides, api.OverrideVersion{Name: name})
	}
	return ""
}

// withhold MEMBER OBJECTS REASON… says that a member would lose more than is let go.
func (w *world) withhold(t *testing.T, args []string) string {
	n, err := strconv.Atoi(args[1])
	require.NoError(t, err)
	w.in.Release.Held = append(w.in.Release.Held, api.Held{Member: args[0], Reason: strings.Join(args[2:], " "), Loss: api.Loss{Objects: n}})
	return ""
}

// freeze [BY] freezes placements, or lets them go on.
func (w *world) freeze(_ *testing.T, args []string) string {
	w.in.Frozen = nil
	if len(args) > 0 {
		w.in.Frozen = &api.Freeze{Scope: api.FreezePlacements, By: args[0], Since: metav1.NewTime(w.in.Now), Reason: "sale"}
	}
	return ""
}

// cells MOST prints where the members stand, and so many of those in trouble.
func (w *world) cells(t *testing.T, args []string) string {
	most, err := strconv.Atoi(args[0])
	require.NoError(t, err)
	known := func(member string) (*api.PlacementResult, Member) { return w.in.Results[member], w.in.Members[member] }
	states := map[string]string{}
	troubled, left := NewFold(w.in, known).Cells(w.in.Previous, w.in.JudgeFrom, w.in.Now, most, func(member, state string) { states[member] = state })
	var b strings.Builder
	for _, member := range slices.Sorted(maps.Keys(states)) {
		fmt.Fprintf(&b, "%s %s\n", member, states[member])
	}
	for _, c := range troubled {
		fmt.Fprintf(&b, "troubled %q %s since %s %s\n", c.Member, c.State, clock(c.Since.Time), c.Message)
	}
	fmt.Fprintf(&b, "and %d more\n", left)
	return b.String()
}

// standings prints how far the members have come in a sentence each, and what the rollout waits for.
func (w *world) standings(_ *testing.T, _ []string) string {
	all := Standings(w.in)
	var b strings.Builder
	for _, member := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&b, "%s: %s\n", member, all[member])
	}
	fmt.Fprintf(&b, "the rollout: %s\n", WaitsFor(w.in))
	return b.String()
}
