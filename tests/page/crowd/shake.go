package crowd

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

// Change is something that becomes of a member.
type Change func(*state)

// Unwell has the agent of a member say that it is not healthy, and why; Well takes that back.
func Unwell(message string) Change { return func(s *state) { s.healthy, s.message = false, message } }

// Well has the agent of a member say that it is healthy.
func Well() Change { return func(s *state) { s.healthy, s.message = true, "" } }

// Silent ends the heartbeats of a member, or has it beat again.
func Silent(silent bool) Change { return func(s *state) { s.silent = silent } }

// Nodes is how many nodes a member has.
func Nodes(n int) Change { return func(s *state) { s.nodes = n } }

// Set changes a member, which its agent tells at once. It fails the test for a member that is not played: one that is
// unknown, or has a real agent.
func (f *Fleet) Set(member string, changes ...Change) {
	f.t.Helper()
	p := f.player(member)
	for _, c := range changes {
		p.change(c)
	}
	require.NoError(f.t, f.beat(f.t.Context(), p))
	f.queue.Add(p.name)
}

// Report has a member report of a placement that it came to an end there, from now on and of each revision.
func (f *Fleet) Report(member, placement string, v Verdict) {
	f.t.Helper()
	p := f.player(member)
	p.mu.Lock()
	p.wanted[placement] = v
	if _, told := p.index.entries[placement]; told {
		p.due[placement] = f.now()
	}
	p.mu.Unlock()
	f.queue.Add(p.name)
}

func (f *Fleet) player(member string) *player {
	f.t.Helper()
	p := f.byName[member]
	require.NotNil(f.t, p, "no player has member %s", member)
	return p
}

// Anyone is the name of a played member that is well at the start and in nothing special.
func (f *Fleet) Anyone(random *rand.Rand) string { return f.anyone(random).name }

// Shake does one thing that happens in fleets, chosen at random, and says what it did.
func (f *Fleet) Shake(random *rand.Rand) string {
	f.t.Helper()
	ways := []func(context.Context, *rand.Rand) (string, error){
		f.shakeHealth, f.shakeLabel, f.shakeScale, f.shakeContent, f.shakeResult, f.shakeRun, f.shakeFreeze,
	}
	ctx, cancel := context.WithTimeout(f.t.Context(), time.Minute)
	defer cancel()
	did, err := ways[random.IntN(len(ways))](ctx, random)
	require.NoError(f.t, err, did)
	return did
}

// anyone is a played member that is well at the start and in nothing special.
func (f *Fleet) anyone(random *rand.Rand) *player {
	all := slices.DeleteFunc(slices.Clone(f.players), func(p *player) bool { return p.part != partReady })
	return all[random.IntN(len(all))]
}

func (f *Fleet) shakeHealth(ctx context.Context, random *rand.Rand) (string, error) {
	p := f.anyone(random)
	healthy := !p.says().healthy
	p.change(of(healthy, Well(), Unwell(complaints[random.IntN(len(complaints))])))
	return fmt.Sprintf("member %s is healthy: %t", p.name, healthy), f.beat(ctx, p)
}

func (f *Fleet) shakeLabel(ctx context.Context, random *rand.Rand) (string, error) {
	p, team := f.anyone(random), fmt.Sprintf("team-%02d", random.IntN(40))
	return "member " + p.name + " is of " + team,
		f.patch(ctx, p.reference(), map[string]any{"metadata": map[string]any{"labels": map[string]string{"team": team}}})
}

// scalable is a placement that wants a number of members.
func (f *Fleet) scalable(random *rand.Rand) *app {
	all := slices.DeleteFunc(slices.Clone(f.apps), func(a *app) bool { return a.policy["placementType"] != "PickN" })
	return all[random.IntN(len(all))]
}

func (f *Fleet) shakeScale(ctx context.Context, random *rand.Rand) (string, error) {
	a, n := f.scalable(random), 1+random.IntN(8)
	return fmt.Sprintf("placement %s wants %d members", a.name, n),
		f.patch(ctx, a.reference(), map[string]any{"spec": map[string]any{"policy": map[string]any{"numberOfClusters": n}}})
}

func (a *app) reference() api.ObjectRef {
	return api.ObjectRef{APIVersion: api.GroupPlacement + "/v1", Kind: api.KindClusterResourcePlacement, Name: a.name}
}

func (f *Fleet) shakeContent(ctx context.Context, random *rand.Rand) (string, error) {
	a := f.apps[0]
	if len(f.apps) > 6 && random.IntN(4) > 0 {
		a = f.apps[6+random.IntN(len(f.apps)-6)]
	}
	return "content of " + a.name + " changes", f.change(ctx, a)
}

func (f *Fleet) shakeResult(_ context.Context, random *rand.Rand) (string, error) {
	p := f.anyone(random)
	before := f.endingOf(p, everywhere)
	after := of(before == WellThere, RefusedThere, WellThere)
	f.Report(p.name, everywhere, after)
	return fmt.Sprintf("%s comes to %d on %s", everywhere, after, p.name), nil
}

func (f *Fleet) shakeRun(ctx context.Context, _ *rand.Rand) (string, error) {
	var run api.UpdateRun
	if err := f.ask(ctx, api.VerbGet, api.GetRequest{Kind: api.KindUpdateRun, Name: runSpring}, &run); err != nil {
		return "", err
	}
	verb := of(run.Status.Status.State.Active(), api.VerbRunStop, api.VerbRunStart)
	if run.Status.Status.State == api.StateStopping {
		f.end(runSpring)
		return "members of run " + runSpring + ", which is stopping, come to an end", nil
	}
	return verb + " " + runSpring, f.run(ctx, verb, runSpring)
}

// end has the operations of a run that would go on for ever end well.
func (f *Fleet) end(run string) {
	for _, p := range f.players {
		p.mu.Lock()
		hanging := p.upgrade.operation != nil && p.upgrade.operation.Run == run && p.upgrade.ends == hangs
		if hanging {
			p.upgrade.ends, p.upgrade.due = endsWell, f.now()
		}
		p.mu.Unlock()
		if hanging {
			f.queue.Add(p.name)
		}
	}
}

func (f *Fleet) shakeFreeze(ctx context.Context, random *rand.Rand) (string, error) {
	p := f.anyone(random)
	frozen := f.frozen[p.name]
	f.frozen[p.name] = !frozen
	verb := of(frozen, api.VerbUnfreeze, api.VerbFreeze)
	return verb + " " + p.name, f.freeze(ctx, verb, p.member)
}
