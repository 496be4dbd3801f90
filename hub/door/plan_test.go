package door_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/bus/watch"
	"flotilla/core/api"
	"flotilla/core/plan"
	"flotilla/core/rollout"
	"flotilla/hub/door"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

// everywhere is a placement on every member.
const everywhere = `{apiVersion: placement.kubernetes-fleet.io/v1, kind: ClusterResourcePlacement, metadata: {name: all},
  spec: {resourceSelectors: [{group: "", version: v1, kind: Namespace, name: shop}]}}`

// rolledOut applies a placement and plays scheduler, roller and agents, until the members run its first
// snapshot. Oslo is away since then; on paris nothing became available.
func rolledOut(h *house, away time.Time, members ...string) {
	h.t.Helper()
	for _, name := range members {
		record := beat(elsewhen.Now(), name, nil)
		record.UID, record.State = h.apply(strings.Replace(berlin, "berlin", name, 1))[0].UID, api.MemberReady
		if name == "oslo" {
			record.State, record.Since = api.MemberUnknown, metav1.NewTime(away)
		}
		write(h, subjects.Members, name, record)
	}
	results := h.apply(shopNamespace, settings, everywhere)
	uid := results[len(results)-1].UID
	strategy := h.stored("all").Spec.Strategy.ApplyStrategy
	schedule := api.Schedule{Header: api.NewHeader(api.KindSchedule), Placement: "all", UID: uid}
	release := api.Release{Header: api.NewHeader(api.KindRelease), Placement: "all", Step: 1}
	for _, name := range members {
		schedule.Bindings = append(schedule.Bindings, api.Binding{Member: name})
		release.Entries = append(release.Entries, api.ReleaseEntry{
			Member: name, UID: uid, Snapshot: 1, Work: h.snapshots("all")[0].Work, Apply: strategy, Generation: 1,
		})
		result := api.PlacementResult{
			Header: api.NewHeader(api.KindPlacementResult), Member: name, Placement: "all", UID: uid, Generation: 1, Snapshot: 1,
			Applied: "True", Available: "True", Changed: metav1.NewTime(elsewhen.Now()),
		}
		if name == "paris" {
			result.Available, result.AvailableMessage = "False", "0 of 2 available"
		}
		require.NoError(h.t, h.server.Agent(h.t, name).PutResult(bustest.Context(h.t), subjects.CommandPlacement, "all", result))
		bustest.Eventually(h.t, func() error {
			if _, heard := h.store.Results.Get(subjects.ResultKey(name, subjects.CommandPlacement, "all")); !heard {
				return fmt.Errorf("nothing was heard of %s", name)
			}
			return nil
		})
	}
	write(h, subjects.Schedules, "all", schedule)
	write(h, subjects.Releases, "all", release)
}

// stored is a placement as the rooms read it.
func (h *house) stored(name string) *api.Placement {
	h.t.Helper()
	spec, _, _ := store.TableOf[api.Spec](h.store.State, subjects.PlacementSpecs).Get(name)
	p, err := api.SpecOf[api.Placement](&spec)
	require.NoError(h.t, err)
	return p
}

// follow is what the rollout does after an apply, by the records that are stored.
func (h *house) follow() rollout.Plan {
	h.t.Helper()
	schedule, _, _ := store.TableOf[api.Schedule](h.store.State, subjects.Schedules).Get("all")
	release, _, _ := store.TableOf[api.Release](h.store.State, subjects.Releases).Get("all")
	snapshots := h.snapshots("all")
	in := rollout.Input{
		Placement: *h.stored("all"), Schedule: &schedule, Release: &release, Latest: &snapshots[len(snapshots)-1],
		Results: map[string]*api.PlacementResult{}, Members: map[string]rollout.MemberView{}, Now: elsewhen.Now(),
	}
	for _, b := range schedule.Bindings {
		member, _, _ := store.TableOf[api.Spec](h.store.State, subjects.MemberSpecs).Get(b.Member)
		record, _, _ := store.TableOf[api.MemberRecord](h.store.State, subjects.Members).Get(b.Member)
		in.Members[b.Member] = rollout.ViewOf(&member, record.State)
		entry, _ := h.store.Results.Get(subjects.ResultKey(b.Member, subjects.CommandPlacement, "all"))
		result, err := watch.Decode[api.PlacementResult](entry)
		require.NoError(h.t, err)
		in.Results[b.Member] = &result
	}
	return rollout.Next(in)
}

func TestPlanSaysOfEveryMemberWhatTheRolloutThenDoes(t *testing.T) {
	away := elsewhen.Now().Add(-7 * time.Minute).Truncate(time.Second)
	for _, c := range []struct {
		name    string
		members []string
		change  string
		want    []string
	}{
		{"one after the other", []string{"berlin", "rome", "tampa"}, config("settings", "2"), []string{
			"berlin keep changes ",
			"rome keep waits 1 of 3 members is unavailable, maxUnavailable 25% allows 1; berlin is not ready",
			"tampa keep waits 1 of 3 members is unavailable, maxUnavailable 25% allows 1; berlin is not ready",
		}},
		{"one is away", []string{"berlin", "oslo", "rome"}, config("settings", "2"), []string{
			"berlin keep waits 1 of 3 members is unavailable, maxUnavailable 25% allows 1; oslo (no heartbeat) is not ready",
			"oslo keep changes  away",
			"rome keep waits 1 of 3 members is unavailable, maxUnavailable 25% allows 1; oslo (no heartbeat) is not ready",
		}},
		{"one is not available", []string{"berlin", "paris"}, config("settings", "2"), []string{
			"berlin keep waits 1 of 2 members is unavailable, maxUnavailable 25% allows 1; paris is not ready",
			"paris keep changes ",
		}},
		{
			"the strategy changes with the content",
			[]string{"berlin", "rome"},
			strings.Replace(everywhere, "spec: {", "spec: {strategy: {rollingUpdate: {maxUnavailable: 2}}, ", 1) + "---" + config("settings", "2"),
			[]string{"berlin keep changes ", "rome keep changes "},
		},
		{"the same content", []string{"berlin", "rome"}, settings + "---" + everywhere, []string{"berlin keep stays ", "rome keep stays "}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := open(t, door.Options{})
			rolledOut(h, away, c.members...)
			change := strings.Split(c.change, "---")
			answer := must[plan.Answer](h, api.VerbPlan, api.PlanRequest{Documents: docs(t, change...)})
			require.Len(t, answer.Placements, 1)
			require.Equal(t, c.want, coursesOf(answer.Placements[0].Picked, away))
			require.Len(t, h.snapshots("all"), 1, "a plan stores nothing")

			h.apply(change...)
			next := h.follow()
			var changes, waits []string
			for _, pick := range answer.Placements[0].Picked {
				switch pick.Rollout {
				case plan.RolloutChanges:
					changes = append(changes, pick.Member)
				case plan.RolloutWaits:
					waits = append(waits, pick.Member+" waits: "+pick.RolloutReason)
				}
			}
			require.Equal(t, next.Advance, changes)
			var held []string
			for _, waiting := range next.Hold {
				held = append(held, waiting.Member+" "+waiting.Reason)
			}
			require.Equal(t, held, waits)
		})
	}
}

// coursesOf renders picks in a line each.
func coursesOf(picks []plan.Pick, away time.Time) []string {
	var all []string
	for _, p := range picks {
		line := fmt.Sprintf("%s %s %s %s", p.Member, p.Change, p.Rollout, p.RolloutReason)
		if p.AwaySince != nil && p.AwaySince.Equal(&metav1.Time{Time: away}) {
			line += " away"
		}
		all = append(all, line)
	}
	return all
}

func TestPlanSaysWhatARolloutWaitsForAndWhoIsTainted(t *testing.T) {
	h := open(t, door.Options{})
	rolledOut(h, elsewhen.Now(), "berlin", "paris", "rome")
	tainted := strings.Replace(berlin, "}}", "}}, spec: {taints: [{key: dedicated, value: gpu, effect: NoSchedule}]}", 1)
	answer := must[plan.Answer](h, api.VerbPlan, api.PlanRequest{Documents: docs(t, tainted, everywhere)})
	i := slices.IndexFunc(answer.Placements, func(p plan.Placement) bool { return p.Name == "all" })
	require.Equal(t, "held up by paris: 0 of 2 available", answer.Placements[i].RolloutMessage)
	require.Equal(t, "dedicated=gpu:NoSchedule", answer.Placements[i].Picked[0].Taint)
	require.Empty(t, answer.Placements[i].Picked[1].Taint)
}
