//go:build page

package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/hub/flotilla/cli"
	"flotilla/hub/flotilla/cli/session"
	"flotilla/tests/elsewhen"
	"flotilla/tests/page/crowd"
)

// said is what the command line says of a fleet.
type said struct {
	members    []api.MemberCluster
	placements []api.Placement
	runs       []api.UpdateRun
}

// typed is what a command prints.
func typed(t *testing.T, fleet *crowd.Fleet, words ...string) []byte {
	t.Helper()
	var out, errs bytes.Buffer
	env := session.OSEnvironment(elsewhen.Now)
	env.Out, env.Err, env.Terminal = &out, &errs, false
	env.Getenv = func(name string) string {
		return map[string]string{"NATS_URL": fleet.Hub.Server().URL(), "NATS_CREDS": fleet.Hub.Server().OperatorCreds()}[name]
	}
	require.Zero(t, cli.Main(t.Context(), words, env), errs.String())
	return out.Bytes()
}

// sayAll has the command line say how the fleet is.
func sayAll(t *testing.T, fleet *crowd.Fleet) *said {
	t.Helper()
	var list struct{ Items []json.RawMessage }
	require.NoError(t, json.Unmarshal(typed(t, fleet, "get", "members,placements,updateruns", "-o", "json"), &list))
	s := &said{}
	for _, item := range list.Items {
		var of metav1.TypeMeta
		require.NoError(t, json.Unmarshal(item, &of))
		switch of.Kind {
		case api.KindMemberCluster:
			s.members = append(s.members, read[api.MemberCluster](t, item))
		case api.KindClusterResourcePlacement:
			s.placements = append(s.placements, read[api.Placement](t, item))
		case api.KindUpdateRun:
			s.runs = append(s.runs, read[api.UpdateRun](t, item))
		}
	}
	require.NotEmpty(t, s.members)
	require.NotEmpty(t, s.placements)
	require.NotEmpty(t, s.runs)
	return s
}

func read[T any](t *testing.T, item json.RawMessage) (value T) {
	t.Helper()
	require.NoError(t, json.Unmarshal(item, &value))
	return value
}

// How states are to be drawn, the class and the sign beside it.
const (
	well    = "well ·"
	moving  = "moving ↻"
	waiting = "waiting ‖"
	warn    = "warn ▲"
	bad     = "bad ✖"
	away    = "away ○"
)

// worse orders how things are drawn.
var worse = []string{well, moving, waiting, warn, bad, away}

func worst(a, b string) string { return worse[max(slices.Index(worse, a), slices.Index(worse, b))] }

// What is not in these tables nobody has heard of.
var (
	drawnMember = map[api.MemberState]string{"Ready": well, "Leaving": moving, "Joining": waiting, "NotReady": bad, "Unknown": away}
	drawnEntry  = map[string]string{
		"Available": well, "Same": well, "Applying": moving, "Withdrawing": moving, "Pending": waiting, "Waiting": waiting, "Kept": waiting,
		"NotAvailable": warn, "Drifted": warn, "Differs": warn, "Missing": warn, "Failed": bad, "Unknown": away,
	}
	drawnUpdate = map[api.UpdateState]string{
		"Completed": well, "Skipped": well, "Running": moving, "Stopping": moving, "NotStarted": waiting, "Pending": waiting, "Stopped": warn, "Failed": bad,
	}
)

// facts are what there is to say, by whom it is of. Those that end with " is" hold at the revision; others go by what members
// report too, which is no part of it.
type facts map[string]string

// state is that of a member in one word.
func (s *said) state(m *api.MemberCluster) api.MemberState {
	if m.DeletionTimestamp != nil {
		return api.MemberLeaving
	}
	return s.status(m).State
}

func (*said) status(m *api.MemberCluster) *api.MemberClusterStatus {
	if m.Status == nil {
		return &api.MemberClusterStatus{State: api.MemberJoining}
	}
	return m.Status
}

// troubled says whether a placement failed, drifted or is not available on a member.
func (s *said) troubled(member string) bool {
	return slices.ContainsFunc(s.placements, func(p api.Placement) bool {
		return p.Status != nil && slices.ContainsFunc(p.Status.PlacementStatuses, func(e api.PerMemberStatus) bool {
			return e.ClusterName == member && slices.Contains([]string{"Failed", "Drifted", "NotAvailable"}, e.State)
		})
	})
}

func (s *said) sign(m *api.MemberCluster) string {
	sign := drawnMember[s.status(m).State]
	switch {
	case sign == well && s.troubled(m.Name):
		return warn
	case sign == well && m.DeletionTimestamp != nil:
		return moving
	}
	return sign
}

// onMembers is what is to be on /members.
func (s *said) onMembers() facts {
	f := facts{}
	for i := range s.members {
		m := &s.members[i]
		state := string(s.state(m))
		for j := range m.Spec.Taints {
			if m.Spec.Taints[j].Key == api.TaintCordoned {
				state += ",Cordoned"
			}
		}
		if m.UID == "" {
			state += ", not admitted"
		}
		f[m.Name+" is"] = fmt.Sprintf("%s %s %d", state, s.status(m).KubernetesVersion, s.status(m).Placed)
		f[m.Name+" shows"] = s.sign(m)
	}
	return f
}

// region is where a member is.
func (s *said) region(m *api.MemberCluster) string {
	labels := m.Labels
	if s.status(m).Labels != nil {
		labels = s.status(m).Labels
	}
	if region := labels["topology.kubernetes.io/region"]; region != "" {
		return region
	}
	if s.status(m).Inventory != nil && s.status(m).Inventory.Region != "" {
		return s.status(m).Inventory.Region
	}
	return "(none)"
}

// tally counts, and tells the counts in the order of their words.
type tally map[string]int

func (c tally) tell(word func(string) string) string {
	var all []string
	for key, n := range c {
		all = append(all, word(key)+" "+strconv.Itoa(n))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// onOverview is what is to be on /.
func (s *said) onOverview() facts {
	f := facts{}
	states, regions := map[api.MemberState]int{}, map[string]tally{}
	for i := range s.members {
		m := &s.members[i]
		states[s.state(m)]++
		region := s.region(m)
		if regions[region] == nil {
			regions[region] = tally{}
		}
		regions[region][s.sign(m)]++
	}
	for state, n := range states {
		f[string(state)+" is"] = fmt.Sprintf("%s %d", drawnMember[state], n)
	}
	for region, signs := range regions {
		f[region+" shows"] = signs.tell(func(sign string) string { return sign })
		f[region+" draws"] = signs.tell(func(sign string) string { word, _, _ := strings.Cut(sign, " "); return word })
	}
	return f
}

// course is how a placement does, by its conditions, its counts and its members.
func course(p *api.Placement) string {
	status := p.Status
	telling := slices.IndexFunc(status.Conditions, func(c metav1.Condition) bool { return c.Status != metav1.ConditionTrue })
	is := func(suffix string) bool {
		return slices.ContainsFunc(status.Conditions, func(c metav1.Condition) bool {
			return strings.HasSuffix(c.Type, suffix) && c.Status == metav1.ConditionFalse
		})
	}
	held := slices.ContainsFunc(status.Conditions, func(c metav1.Condition) bool { return c.Reason == api.ReasonWithdrawalHeld })
	undone := status.Rollout != nil && !status.Rollout.Complete
	switch {
	case is(api.ConditionRolloutProgressing), status.Counts.Failed > 0:
		return bad
	case status.Counts.Drifted > 0, status.Counts.Differing > 0:
		return warn
	case len(status.Conditions) == 0:
		return waiting
	case telling >= 0 && strings.HasSuffix(status.Conditions[telling].Type, api.ConditionScheduled) && status.Conditions[telling].Status == metav1.ConditionFalse:
		return warn
	case held, status.Paused != nil && undone:
		return waiting
	case p.DeletionTimestamp != nil, telling >= 0, undone, status.ObservedGeneration < p.Generation:
		return moving
	}
	return well
}

func signOf(p *api.Placement) string {
	sign, silent := course(p), 0
	for i := range p.Status.PlacementStatuses {
		one := drawnEntry[p.Status.PlacementStatuses[i].State]
		if one == away {
			silent, one = silent+1, warn
		}
		sign = worst(sign, one)
	}
	if silent > 0 && silent == p.Status.Counts.Picked {
		return away
	}
	return sign
}

// stateOf is the condition that tells of a placement.
func stateOf(p *api.Placement) string {
	short := func(c *metav1.Condition) string { return strings.TrimPrefix(c.Type, p.Kind) }
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Status != metav1.ConditionTrue {
			return short(c) + "=" + string(c.Status)
		}
	}
	if n := len(p.Status.Conditions); n > 0 {
		return short(&p.Status.Conditions[n-1])
	}
	return "-"
}

// entries are where members stand with a placement, by name.
func entries(p *api.Placement) map[string]string {
	all := map[string]string{}
	for i := range p.Status.PlacementStatuses {
		if e := &p.Status.PlacementStatuses[i]; e.ClusterName != "" {
			all[e.ClusterName] = e.State
		}
	}
	for i := range p.Status.Withdrawals {
		all[p.Status.Withdrawals[i].ClusterName] = "Withdrawing"
	}
	return all
}

// onPlacements is what is to be on /placements.
func (s *said) onPlacements() facts {
	f := facts{}
	regions := map[string]string{}
	for i := range s.members {
		regions[s.members[i].Name] = s.region(&s.members[i])
	}
	for i := range s.placements {
		p := &s.placements[i]
		c := &p.Status.Counts
		want := strconv.Itoa(c.Want)
		if c.Want < 0 {
			want = "all"
		}
		snapshot := p.Status.ObservedSnapshot
		if snapshot == "" || snapshot == "0" {
			snapshot = "-"
		}
		f[p.Name+" shows"] = fmt.Sprintf("%s %s %s %d %d %d %d %s", signOf(p), stateOf(p), want, c.Picked, c.Applied, c.Available, c.Failed, snapshot)
		picked, available, worsts := tally{}, tally{}, map[string]string{}
		for member, state := range entries(p) {
			at, sign := regions[member], drawnEntry[state]
			if worsts[at] == "" {
				worsts[at] = well
			}
			worsts[at] = worst(worsts[at], sign)
			if state != "Kept" && state != "Withdrawing" {
				picked[at]++
			}
			if sign == well {
				available[at]++
			}
		}
		for region, sign := range worsts {
			word, glyph, _ := strings.Cut(sign, " ")
			f[p.Name+" in "+region] = fmt.Sprintf("%s %d/%d%s", word, available[region], picked[region], strings.TrimPrefix(glyph, "·"))
		}
	}
	return f
}

// onPlacement is what is to be on the screen of a placement.
func (s *said) onPlacement(name string) facts {
	at := slices.IndexFunc(s.placements, func(p api.Placement) bool { return p.Name == name })
	p := &s.placements[at]
	c := &p.Status.Counts
	f := facts{"it shows": fmt.Sprintf("%s %s %d picked %d current %d applied %d available", signOf(p), stateOf(p), c.Picked, c.Current, c.Applied, c.Available)}
	for member, state := range entries(p) {
		f[member+" shows"] = drawnEntry[state] + " " + state
	}
	return f
}

// onRun is what is to be on the screen of a run.
func (s *said) onRun(name string) facts {
	at := slices.IndexFunc(s.runs, func(r api.UpdateRun) bool { return r.Name == name })
	run := s.runs[at].Status
	sign := drawnUpdate[run.Status.State]
	if run.FailureCount > 0 {
		sign = worst(sign, warn)
	}
	f := facts{"it is": fmt.Sprintf("%s %s %d of %d members done", sign, run.Status.State, run.Finished-run.FailureCount, run.Members)}
	silent := map[string]bool{}
	for i := range s.members {
		silent[s.members[i].Name] = s.sign(&s.members[i]) == away
	}
	for i := range run.Stages {
		for j := range run.Stages[i].Groups {
			for k := range run.Stages[i].Groups[j].Members {
				m := &run.Stages[i].Groups[j].Members[k]
				sign := drawnUpdate[m.Status.State]
				if silent[m.Name] {
					sign = away
				}
				f[m.Name+" is"] = sign + " " + string(m.Status.State)
			}
		}
	}
	return f
}
