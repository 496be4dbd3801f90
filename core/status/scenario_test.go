package status

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"flotilla/core/api"
	"flotilla/tests/scenario"
)

var start = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// world is what the commands of a scenario act on.
type world struct {
	in Input
}

func newWorld() *world {
	w := &world{in: Input{Results: map[string]*api.PlacementResult{}, Members: map[string]Member{}, Now: start}}
	w.in.Placement.Name, w.in.Placement.UID, w.in.Placement.Generation = "web", "u1", 1
	return w
}

func TestScenarios(t *testing.T) {
	scenario.Play(t, "testdata/*.txt", func() map[string]scenario.Command { return newWorld().commands() })
}

func (w *world) commands() map[string]scenario.Command {
	return map[string]scenario.Command{
		"namespace": w.namespace, "generation": w.generation, "schedule": w.schedule, "unpicked": w.unpicked, "snapshot": w.snapshot,
		"deadline": w.deadline, "unavailable": w.unavailable, "listen": w.listen, "forget": w.forget, "rollout": w.rollout, "lines": w.lines,
		"release": w.release, "hold": w.hold, "report": w.report, "member": w.member, "tick": w.tick, "status": w.status, "members": w.members,
		"pause": w.pause, "undo": w.undo, "refuse": w.refuse, "override": w.override, "withhold": w.withhold, "freeze": w.freeze,
		"cells": w.cells, "standings": w.standings,
	}
}

func (w *world) namespace(_ *testing.T, args []string) string {
	w.in.Placement.Namespace = args[0]
	return ""
}

// pause [BY] pauses the rollout, or resumes it.
func (w *world) pause(t *testing.T, args []string) string {
	delete(w.in.Placement.Annotations, api.AnnotationPaused)
	if len(args) > 0 {
		text, err := json.Marshal(api.Pause{By: args[0], Since: metav1.NewTime(w.in.Now)})
		require.NoError(t, err)
		w.annotate(api.AnnotationPaused, string(text))
	}
	return ""
}

func (w *world) annotate(name, value string) {
	if w.in.Placement.Annotations == nil {
		w.in.Placement.Annotations = map[string]string{}
	}
	w.in.Placement.Annotations[name] = value
}

// undo REVISION BY says that the newest snapshot is pinned to another.
func (w *world) undo(t *testing.T, args []string) string {
	of, err := strconv.ParseInt(args[0], 10, 64)
	require.NoError(t, err)
	w.in.Latest.Undo, w.in.Latest.By, w.in.Latest.Created = &api.Undo{Of: of, Selected: "d"}, args[1], metav1.NewTime(w.in.Now)
	return ""
}

func (w *world) generation(t *testing.T, args []string) string {
	n, err := strconv.ParseInt(args[0], 10, 64)
	require.NoError(t, err)
	w.in.Placement.Generation = n
	return ""
}

// schedule all|WANT [MEMBER…]; "berlin?" is kept although it is not eligible.
func (w *world) schedule(t *testing.T, args []string) string {
	s := &api.Schedule{UID: "u1", Generation: w.in.Placement.Generation, Fulfilled: true}
	picked := 0
	for _, name := range args[1:] {
		member, waiting := strings.CutSuffix(name, "?")
		b := api.Binding{Member: member, Waiting: waiting, Reason: "picked by scheduling policy"}
		if waiting {
			b.Reason = "not eligible yet; its workload stays"
		} else {
			picked++
		}
		s.Bindings = append(s.Bindings, b)
	}
	if args[0] != "all" {
		n, err := strconv.ParseInt(args[0], 10, 32)
		require.NoError(t, err)
		want := int32(n)
		s.Want, s.Fulfilled = &want, picked >= int(n)
	}
	s.Message = fmt.Sprintf("found %d member(s)", picked)
	w.in.Schedule = s
	return ""
}

// unpicked MEMBER REASON….
func (w *world) unpicked(_ *testing.T, args []string) string {
	w.in.Schedule.Unpicked = append(w.in.Schedule.Unpicked, api.Unpicked{Member: args[0], Reason: strings.Join(args[1:], " ")})
	return ""
}

// snapshot INDEX [error TEXT…].
func (w *world) snapshot(t *testing.T, args []string) string {
	index, err := strconv.ParseInt(args[0], 10, 64)
	require.NoError(t, err)
	w.in.Latest = &api.Snapshot{UID: "u1", Index: index, Created: metav1.NewTime(w.in.Now), Manifests: []api.Manifest{
		{ObjectRef: api.ObjectRef{APIVersion: "v1", Kind: "Namespace", Name: "shop"}},
		{ObjectRef: api.ObjectRef{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "cart"}},
	}}
	if len(args) > 1 {
		w.in.Latest.Error, w.in.Latest.Manifests = strings.Join(args[2:], " "), nil
	}
	return ""
}

// release SNAPSHOT|withdrawn MEMBER….
func (w *world) release(t *testing.T, args []string) string {
	if w.in.Release == nil {
		w.in.Release = &api.Release{}
	}
	r := w.in.Release
	for _, member := range args[1:] {
		e := w.entry(member)
		if e == nil {
			r.Entries = append(r.Entries, api.ReleaseEntry{Member: member, UID: "u1"})
			e = &r.Entries[len(r.Entries)-1]
		}
		e.Generation++
		e.Since = metav1.NewTime(w.in.Now)
		if args[0] == "withdrawn" {
			e.Withdrawn = true
			continue
		}
		n, err := strconv.ParseInt(args[0], 10, 64)
		require.NoError(t, err)
		e.Snapshot, e.Withdrawn = n, false
	}
	r.Held = nil
	return ""
}

func (w *world) entry(member string) *api.ReleaseEntry {
	for i := range w.in.Release.Entries {
		if w.in.Release.Entries[i].Member == member {
			return &w.in.Release.Entries[i]
		}
	}
	return nil
}

// hold MEMBER REASON….
func (w *world) hold(_ *testing.T, args []string) string {
	w.in.Release.Held = append(w.in.Release.Held, api.Held{Member: args[0], Reason: strings.Join(args[1:], " ")})
	return ""
}

// report WHAT MEMBER….
// reported is the answer to ReportDiff, which the placement then has.
func (w *world) reported(r *api.PlacementResult, how string, failure api.ManifestFailure) {
	w.in.Placement.Spec.Strategy.ApplyStrategy = &api.ApplyStrategy{Type: api.ApplyReportDiff}
	r.Applied, r.AppliedReason, r.DiffReported, r.DiffReportedReason = "Unknown", "", "True", "AllWorkHaveDiffReported"
	switch how {
	case "same":
		r.DiffReportedMessage = "all 2 objects are as they are wanted"
	case "differs":
		r.DiffReportedMessage = "2 of 2 objects differ"
		r.DifferingTotal = 2
		r.Differing = []api.DifferingObject{{
			ObjectRef: failure.ObjectRef, Differences: []api.Difference{{Path: "/spec/replicas", Manager: "hpa"}, {Path: "/spec/paused"}}, Total: 2,
		}, {ObjectRef: api.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "c"}, Differences: []api.Difference{{Path: "/"}}, Total: 1}}
	case "incomparable":
		r.DiffReported, r.DiffReportedReason, r.Failed = "False", "NotAllWorkHaveDiffReported", 1
		failure.Condition, failure.Reason, failure.Message = "Applied", "FailedToReportDiff", "spec.replicas is no number"
		r.Failures = []api.ManifestFailure{failure}
	}
}

func (w *world) report(_ *testing.T, args []string) string {
	for _, member := range args[1:] {
		e := w.entry(member)
		r := &api.PlacementResult{
			UID: e.UID, Generation: e.Generation, Snapshot: e.Snapshot, Total: 2, Changed: metav1.NewTime(w.in.Now),
			Applied: "True", AppliedReason: "AllWorkHaveBeenApplied",
		}
		failure := api.ManifestFailure{ObjectRef: api.ObjectRef{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "cart"}}
		switch args[0] {
		case "available":
			r.Available, r.AvailableReason = "True", "AllWorkAreAvailable"
		case "untrackable":
			r.Available, r.AvailableReason = "True", "NotAllWorkAreAvailabilityTrackable"
		case "unavailable":
			r.Available, r.AvailableReason, r.Failed = "False", "NotAllWorkAreAvailable", 1
			failure.Condition, failure.Reason, failure.Message = "Available", "ManifestNotAvailableYet", "1 of 3 replicas are available"
			r.Failures = []api.ManifestFailure{failure}
		case "failed":
			r.Applied, r.AppliedReason, r.Failed = "False", "NotAllWorkHaveBeenApplied", 1
			failure.Condition, failure.Reason, failure.Message = "Applied", "ManifestApplyFailed", "admission webhook says no"
			r.Failures = []api.ManifestFailure{failure}
		case "drifted":
			r.Applied, r.AppliedReason, r.Failed = "False", "NotAllWorkHaveBeenApplied", 1
			failure.Condition, failure.Reason, failure.Message = "Applied", "FoundDrifts", "changed on the member at /spec/replicas"
			r.Failures = []api.ManifestFailure{failure}
		case "corrected":
			r.Available, r.AvailableReason, r.CorrectedTotal = "True", "AllWorkAreAvailable", 2
			r.Corrected = []api.Correction{{ObjectRef: failure.ObjectRef, Fields: "/spec/replicas", Since: metav1.NewTime(w.in.Now)}}
		case "fought":
			w.in.Placement.Spec.Strategy.ApplyStrategy = nil
			r.Available, r.AvailableReason, r.CorrectedTotal = "True", "AllWorkAreAvailable", 1
			r.Corrected = []api.Correction{{ObjectRef: failure.ObjectRef, Fields: "/spec/replicas (hpa)", Since: metav1.NewTime(w.in.Now), Fought: true}}
		case "differs", "same", "incomparable":
			w.reported(r, args[0], failure)
		case "crashing":
			r.Available, r.AvailableReason, r.Failed = "False", "NotAllWorkAreAvailable", 1
			failure.Condition, failure.Reason = "Available", "ManifestNotAvailableYet"
			failure.Message = "0 of 2 available: back-off restarting failed container"
			r.Failures = []api.ManifestFailure{failure}
		case "applying":
			r.Applied, r.AppliedReason = "False", "ApplyInProgress"
		case "withdrawn":
			r.Withdrawn = true
		default:
			panic("unknown result " + args[0])
		}
		w.in.Results[member] = r
	}
	return ""
}

// member NAME STATE: seen last when its state turned Unknown.
func (w *world) member(_ *testing.T, args []string) string {
	w.in.Members[args[0]] = Member{State: api.MemberState(args[1]), LastSeen: w.in.Now, Since: w.in.Now}
	return ""
}

func (w *world) tick(t *testing.T, args []string) string {
	d, err := time.ParseDuration(args[0])
	require.NoError(t, err)
	w.in.Now = w.in.Now.Add(d)
	return ""
}

// status aggregates, prints the record and its events, and keeps it as it would come back from the
// bucket; aggregating again later must give the same bytes.
func (w *world) status(t *testing.T, _ []string) string {
	st, recheck := Follow(w.in)
	events := Events(w.in.Previous, st, w.in.Now)
	body, err := json.Marshal(st)
	require.NoError(t, err)
	w.in.Previous = &api.PlacementStatus{}
	require.NoError(t, json.Unmarshal(body, w.in.Previous))

	later := w.in
	later.Now = later.Now.Add(time.Hour)
	if !recheck.IsZero() {
		require.True(t, recheck.After(w.in.Now), "asked to look again at once")
		later.Now = recheck.Add(-time.Millisecond)
	}
	again, err := json.Marshal(Aggregate(later))
	require.NoError(t, err)
	require.Equal(t, string(body), string(again), "aggregating again changed something")
	require.Empty(t, Events(w.in.Previous, st, w.in.Now), "aggregating again told something")
	return render(st) + renderMembers(st.PlacementStatuses) + renderEvents(events)
}

// rollout prints what is told of the rollout, the alarms, and when to look again, as the last status has it.
func (w *world) rollout(t *testing.T, _ []string) string {
	st, recheck := Follow(w.in)
	var b strings.Builder
	require.NotNil(t, st.Rollout)
	fmt.Fprintf(&b, "snapshot %d since %s complete=%v", st.Rollout.Snapshot, clock(st.Rollout.Since.Time), st.Rollout.Complete)
	if st.Rollout.Deadline != nil {
		fmt.Fprintf(&b, " deadline %s", clock(st.Rollout.Deadline.Time))
	}
	fmt.Fprintf(&b, ": %s\n", st.Rollout.Message)
	for _, h := range st.Rollout.HeldUpBy {
		fmt.Fprintf(&b, "held up by %s since %s, %s %s/%s: %s\n", h.ClusterName, clock(h.Since.Time), h.Kind, h.Namespace, h.Name, h.Message)
	}
	for _, a := range st.Alarms {
		fmt.Fprintf(&b, "alarm %s %v told at %s\n", a.Reason, a.Members, clock(a.At.Time))
	}
	if !recheck.IsZero() {
		fmt.Fprintf(&b, "recheck %s\n", clock(recheck))
	}
	return b.String()
}

func clock(t time.Time) string { return t.UTC().Format("15:04:05") }

// deadline DURATION sets the annotation.
func (w *world) deadline(_ *testing.T, args []string) string {
	w.annotate(api.AnnotationProgressDeadline, args[0])
	return ""
}

// unavailable VALUE sets maxUnavailable.
func (w *world) unavailable(_ *testing.T, args []string) string {
	value := intstr.Parse(args[0])
	w.in.Placement.Spec.Strategy.RollingUpdate = &api.RollingUpdate{MaxUnavailable: &value}
	return ""
}

// listen says that this hub hears of members from now on, and judges a minute later.
func (w *world) listen(_ *testing.T, _ []string) string {
	w.in.JudgeFrom = w.in.Now.Add(time.Minute)
	return ""
}

// forget loses the status record.
func (w *world) forget(_ *testing.T, _ []string) string {
	w.in.Previous = nil
	return ""
}

// lines prints the members one a line.
func (w *world) lines(_ *testing.T, _ []string) string {
	var b strings.Builder
	for _, m := range membersOf(w.in) {
		fmt.Fprintf(&b, "%s snapshot %q %s since %s %s\n", m.ClusterName, m.ObservedResourceIndex, m.State, clock(m.Since.Time), m.Message)
	}
	for _, l := range Aggregate(w.in).Withdrawals {
		fmt.Fprintf(&b, "%s withdrawn since %s, %s since %s %s\n", l.ClusterName, clock(l.Since.Time), l.State, clock(l.StateSince.Time), l.Message)
	}
	return b.String()
}

func (w *world) members(_ *testing.T, _ []string) string { return renderMembers(membersOf(w.in)) }

func membersOf(in Input) []api.PerMemberStatus { return newEvaluation(in).entries() }

func render(st api.PlacementStatus) string {
	var b strings.Builder
	renderConditions(&b, "", st.Conditions)
	fmt.Fprintf(&b, "snapshot %q, %d selected, counts %+v\n", st.ObservedSnapshot, len(st.SelectedResources), st.Counts)
	if st.Pinned != nil {
		fmt.Fprintf(&b, "%s\n", st.Pinned)
	}
	if st.Paused != nil {
		fmt.Fprintf(&b, "%s\n", st.Paused)
	}
	if len(st.Unconfirmed) > 0 {
		fmt.Fprintf(&b, "unconfirmed %s\n", strings.Join(st.Unconfirmed, " "))
	}
	return b.String()
}

func renderConditions(b *strings.Builder, indent string, conditions []metav1.Condition) {
	for _, c := range conditions {
		fmt.Fprintf(b, "%s%s %s %s gen=%d at=%s: %s\n", indent, c.Type, c.Status, c.Reason, c.ObservedGeneration,
			c.LastTransitionTime.UTC().Format("15:04:05"), c.Message)
	}
}

func renderMembers(members []api.PerMemberStatus) string {
	var b strings.Builder
	for _, m := range members {
		fmt.Fprintf(&b, "member %q snapshot %q\n", m.ClusterName, m.ObservedResourceIndex)
		renderConditions(&b, "  ", m.Conditions)
		for _, f := range m.FailedPlacements {
			fmt.Fprintf(&b, "  %s %s/%s %s/%s: %s %s: %s\n", f.Condition.Type, f.Group, f.Version, f.Namespace, f.Name, f.Kind, f.Condition.Reason, f.Condition.Message)
		}
	}
	return b.String()
}

func renderEvents(events []api.Audit) string {
	var b strings.Builder
	for _, e := range events {
		fmt.Fprintf(&b, "event %s %s %s: %s\n", e.Object, e.Type, e.Reason, e.Message)
	}
	return b.String()
}
