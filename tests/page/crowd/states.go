package crowd

import (
	"context"
	"encoding/json"
	"fmt"

	"flotilla/core/api"
)

// nodePools has the nodes of the real agent's member looked after.
const nodePools = `
apiVersion: flotilla.io/v1alpha1
kind: InstanceCatalog
metadata: {name: lab, annotations: {flotilla.io/members: ring=lab}}
spec:
  types:
  - {name: d2, cpu: 2, memory: 8Gi, offerings: [{zone: lab-1, capacityType: on-demand, price: 0.1}]}
  - {name: d4, cpu: 4, memory: 16Gi, offerings: [{zone: lab-1, capacityType: on-demand, price: 0.2}]}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: workers, annotations: {flotilla.io/members: ring=lab}}
spec:
  template:
    spec:
      requirements:
      - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
  disruption:
    consolidationPolicy: WhenEmptyOrUnderutilized
    consolidateAfter: 0s
    budgets: [{nodes: "2"}]
`

// steer has people do what leaves the fleet in the states that pages show: pinned, paused, withheld, cordoned, leaving,
// frozen.
func (f *Fleet) steer(ctx context.Context) error {
	if err := f.steerMembers(ctx); err != nil {
		return err
	}
	pools, err := parsed(nodePools)
	if err != nil {
		return err
	}
	if err := f.apply(ctx, "node pools", pools); err != nil {
		return err
	}
	for _, a := range []*app{f.apps[1], f.apps[2]} {
		if err := f.await(ctx, func(ctx context.Context) error { return f.isOut(ctx, a) }); err != nil {
			return err
		}
	}
	if err := f.turnBack(ctx); err != nil {
		return err
	}
	f.apps[2].selects = []string{withheld}
	return f.apply(ctx, "the withdrawal", []json.RawMessage{f.apps[2].placement()})
}

// turnBack has a placement get other content and go back to what it had, and one paused on its way. A fleet of few placements has
// one for both, which comes to rest in between: it stands there in the same way each time.
func (f *Fleet) turnBack(ctx context.Context) error {
	few := len(f.apps) <= 4
	for _, step := range []func() error{
		func() error { return f.change(ctx, f.apps[1]) },
		func() error { return f.rollout(ctx, api.VerbRolloutUndo, pinned, "") },
	} {
		if err := step(); err != nil {
			return err
		}
		if !few {
			continue
		}
		if err := f.settle(ctx); err != nil {
			return err
		}
	}
	if few {
		return f.rollout(ctx, api.VerbRolloutPause, pinned, why)
	}
	return f.pause(ctx, f.apps[4])
}

// shrinks says that no node of the real agent's member is on its way out: one that is drained takes an hour to go.
func (f *Fleet) shrinks(ctx context.Context) error {
	var found api.DisruptionsResponse
	if err := f.ask(ctx, api.VerbDisruptions, api.DisruptionsRequest{}, &found); err != nil {
		return err
	}
	for i := range found.Items {
		if s := &found.Items[i].Status; s.Phase == api.PhaseDraining && s.Ended.IsZero() {
			return nil
		}
	}
	return fmt.Errorf("none of %d disruptions drains a node", len(found.Items))
}

// isOut says what keeps a placement from being on all members that it is for.
func (f *Fleet) isOut(ctx context.Context, a *app) error {
	var p api.Placement
	if err := f.ask(ctx, api.VerbGet, api.GetRequest{Kind: api.KindClusterResourcePlacement, Name: a.name}, &p); err != nil {
		return err
	}
	if p.Status == nil || p.Status.Counts.Picked == 0 || p.Status.Counts.Applied+p.Status.Counts.Failed < p.Status.Counts.Picked {
		return fmt.Errorf("placement %s: %+v", a.name, p.Status)
	}
	return nil
}

// why is what people give as a reason.
const why = `the new image crashes, see <a href="javascript:alert(1)">ticket</a> ` + markup

// pause lets a placement move no member, and gives it something to move for.
func (f *Fleet) pause(ctx context.Context, a *app) error {
	if err := f.rollout(ctx, api.VerbRolloutPause, a.name, why); err != nil {
		return err
	}
	return f.change(ctx, a)
}

// change gives a placement other content.
func (f *Fleet) change(ctx context.Context, a *app) error {
	a.revision++
	return f.apply(ctx, "content of "+a.name, []json.RawMessage{a.settings()})
}

func (f *Fleet) rollout(ctx context.Context, verb, placement, reason string) error {
	request := api.RolloutRequest{Request: f.id(), Object: api.ObjectRef{Kind: api.KindClusterResourcePlacement, Name: placement}, Reason: reason}
	if err := f.askAs(ctx, api.RoleOperator, verb, request, nil); err != nil {
		return fmt.Errorf("%s of %s: %w", verb, placement, err)
	}
	return nil
}

// steerMembers cordons one member, lets one leave, and freezes one.
func (f *Fleet) steerMembers(ctx context.Context) error {
	for _, m := range f.members {
		var err error
		switch m.part {
		case partCordoned:
			taint := api.Taint{Key: api.TaintCordoned, Effect: api.EffectNoSchedule}
			err = f.patch(ctx, m.reference(), map[string]any{"spec": map[string]any{"taints": []api.Taint{taint}}})
		case partLeaving:
			err = f.ask(ctx, api.VerbDelete, api.DeleteRequest{Request: f.id(), Object: m.reference(), Yes: true}, nil)
		case partFrozen:
			err = f.freeze(ctx, api.VerbFreeze, m)
		}
		if err != nil {
			return fmt.Errorf("member %s: %w", m.name, err)
		}
	}
	return nil
}

func (f *Fleet) freeze(ctx context.Context, verb string, m *member) error {
	return f.ask(ctx, verb, api.FreezeRequest{Request: f.id(), Scope: api.FreezeOf(m.name), Reason: why}, nil)
}

func (m *member) reference() api.ObjectRef {
	return api.ObjectRef{APIVersion: api.GroupCluster + "/v1", Kind: api.KindMemberCluster, Name: m.name}
}

func (f *Fleet) patch(ctx context.Context, object api.ObjectRef, change map[string]any) error {
	return f.ask(ctx, api.VerbPatch, api.PatchRequest{Request: f.id(), Object: object, Patch: encode(change)}, nil)
}
