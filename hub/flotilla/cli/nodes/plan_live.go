package nodes

import (
	"cmp"
	"context"
	"maps"
	"time"

	"flotilla/core/api"
	"flotilla/core/explain"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
)

// FleetNodePlan is what plan nodes -o json prints of all members.
type FleetNodePlan struct {
	At      time.Time                `json:"at"`
	Members []explain.MemberForecast `json:"members"`
	// Savings per hour, of all members.
	Savings api.Hourly `json:"savings"`
}

// planNodesLive asks the hub about one member, or about all.
func (a Commands) planNodesLive(ctx context.Context, o *PlanNodesOptions, named []string) error {
	if o.Now != "" {
		return session.Usagef("--now needs files that hold Nodes: a hub plans the present")
	}
	if err := o.Unused(); err != nil {
		return err
	}
	if _, err := a.momentOf("--now", "", o.Format); err != nil {
		return err
	}
	if len(named) > 0 {
		var err error
		if a.Member, err = a.HomeOf(ctx, resource.Named(api.KindMemberNode, named[0])); err != nil {
			return err
		}
	}
	if a.Member == "" {
		return a.planFleetNodes(ctx, o)
	}
	p, err := a.askNodePlan(ctx, o, a.Member, named, nil)
	if err != nil {
		return a.withNearNode(ctx, err, named)
	}
	if err := a.printNodePlan(o, &p); err != nil {
		return err
	}
	return a.nodesWerePlanned(o, []explain.MemberForecast{p})
}

func (a Commands) askNodePlan(ctx context.Context, o *PlanNodesOptions, member string, named []string, fleet map[string]int) (explain.MemberForecast, error) {
	var p explain.MemberForecast
	request := api.PlanNodesRequest{Member: member, Nodes: named, FleetBudgets: fleet, Documents: bodies(o.supposed), Passes: o.passes}
	err := a.Call(ctx, api.VerbPlanNodes, request, &p)
	return p, o.withPlaces(err)
}

// withNearNode adds to an error about a missing member or node what it may have been meant to be.
func (a Commands) withNearNode(ctx context.Context, err error, named []string) error {
	if err = a.WithNearMember(ctx, err); !session.IsNotFound(err) {
		return err
	}
	for _, name := range named {
		r := resource.Named(api.KindMemberNode, name)
		if _, missing := a.FetchNamed(ctx, r, resource.Selection{}); session.IsNotFound(missing) {
			return missing
		}
	}
	return err
}

// planFleetNodes plans member after member; fleet-wide budgets are spent once.
func (a Commands) planFleetNodes(ctx context.Context, o *PlanNodesOptions) error {
	all := FleetNodePlan{Members: []explain.MemberForecast{}}
	var fleet map[string]int
	for _, member := range a.NamesOf(ctx, api.KindMemberCluster) {
		p, err := a.askNodePlan(ctx, o, member, nil, fleet)
		if session.IsNotFound(err) { // it left meanwhile, or is not admitted
			continue
		}
		if why, beyond := session.IsBeyond(err); beyond { // what is about the others is of use without it
			a.NoteOnce("member " + member + ": left out: " + why)
			continue
		}
		if err != nil {
			return err
		}
		all.Members, all.Savings, all.At = append(all.Members, p), all.Savings.Plus(p.Savings), p.At
		fleet = spentFleet(fleet, p.FleetBudgets)
	}
	if len(all.Members) == 0 {
		return a.noMembers(ctx)
	}
	for i := range all.Members {
		for _, text := range all.Members[i].Notes {
			a.NoteOnce(text)
		}
	}
	if o.Format == "json" {
		if err := session.PrintJSON(a.Out, all); err != nil {
			return err
		}
		return a.nodesWerePlanned(o, all.Members)
	}
	if err := a.printFleetPlan(&all); err != nil {
		return err
	}
	return a.nodesWerePlanned(o, all.Members)
}

// spentFleet is what is left of fleet-wide budgets after one more member.
func spentFleet(before, after map[string]int) map[string]int {
	left := map[string]int{}
	maps.Copy(left, before)
	maps.Copy(left, after)
	return left
}

// noMembers says that there is nothing to plan, unless the hub could not be asked.
func (a Commands) noMembers(ctx context.Context) error {
	if _, err := a.FetchAll(ctx, resource.Known(api.KindMemberCluster), resource.Selection{Brief: true}); err != nil {
		return err
	}
	return &session.Failure{Code: session.ExitDifferent, Message: "the fleet has no member", Next: "flotilla get members"}
}

// nodesPlanned names the next command; exit 1 when something would be disrupted.
func (a Commands) nodesPlanned(members []explain.MemberForecast) error {
	var stays, stale string
	for i := range members {
		p := &members[i]
		if len(p.Commands) > 0 {
			a.Next("flotilla get disruptions -m %s -w", p.Member)
			return session.Different()
		}
		if p.Stale != "" {
			stale = cmp.Or(stale, p.Member)
			continue
		}
		if node := firstManaged(p); stays == "" && node != "" {
			stays = "why node/" + node + " -m " + p.Member
			if len(members) > 1 {
				stays = "plan nodes -m " + p.Member
			}
		}
	}
	switch {
	case stays != "":
		a.Next("flotilla %s", stays)
	case stale != "":
		a.Next("flotilla describe member/%s", stale)
	}
	return nil
}
