package cli

import (
	"cmp"
	"context"
	"maps"
	"time"

	"flotilla/core/api"
	"flotilla/core/disruption"
)

// fleetNodePlan is what plan nodes -o json prints of all members.
type fleetNodePlan struct {
	At      time.Time                   `json:"at"`
	Members []disruption.MemberForecast `json:"members"`
	// Savings per hour, of all members.
	Savings api.Hourly `json:"savings"`
}

// planNodesLive asks the hub about one member, or about all.
func (a nodesCommands) planNodesLive(ctx context.Context, o *planNodesOptions, named []string) error {
	if o.now != "" {
		return usagef("--now needs files that hold Nodes: a hub plans the present")
	}
	if err := o.unused(); err != nil {
		return err
	}
	if _, err := a.momentOf("--now", "", o.format); err != nil {
		return err
	}
	if len(named) > 0 {
		var err error
		if a.member, err = a.homeOf(ctx, ref{resourceKind: kindOfObject(api.VersionFlotilla, api.KindMemberNode), name: named[0]}); err != nil {
			return err
		}
	}
	if a.member == "" {
		return a.planFleetNodes(ctx, o)
	}
	p, err := a.askNodePlan(ctx, o, a.member, named, nil)
	if err != nil {
		return a.withNearNode(ctx, err, named)
	}
	if err := a.printNodePlan(o, &p); err != nil {
		return err
	}
	return a.nodesWerePlanned(o, []disruption.MemberForecast{p})
}

func (a nodesCommands) askNodePlan(ctx context.Context, o *planNodesOptions, member string, named []string, fleet map[string]int) (disruption.MemberForecast, error) {
	var p disruption.MemberForecast
	request := api.PlanNodesRequest{Member: member, Nodes: named, FleetBudgets: fleet, Documents: bodies(o.supposed), Passes: o.passes}
	err := a.call(ctx, api.VerbPlanNodes, request, &p)
	return p, o.withPlaces(err)
}

// withNearNode adds to an error about a missing member or node what it may have been meant to be.
func (a nodesCommands) withNearNode(ctx context.Context, err error, named []string) error {
	if err = a.withNearMember(ctx, err); !isNotFound(err) {
		return err
	}
	for _, name := range named {
		r := ref{resourceKind: kindOfObject(api.VersionFlotilla, api.KindMemberNode), name: name}
		if _, missing := a.fetchNamed(ctx, r, selection{}); isNotFound(missing) {
			return missing
		}
	}
	return err
}

// planFleetNodes plans member after member; fleet-wide budgets are spent once.
func (a nodesCommands) planFleetNodes(ctx context.Context, o *planNodesOptions) error {
	all := fleetNodePlan{Members: []disruption.MemberForecast{}}
	var fleet map[string]int
	for _, member := range a.namesOf(ctx, api.KindMemberCluster) {
		p, err := a.askNodePlan(ctx, o, member, nil, fleet)
		if isNotFound(err) { // it left meanwhile, or is not admitted
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
			a.noteOnce(text)
		}
	}
	if o.format == "json" {
		if err := printJSON(a.Out, all); err != nil {
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
func (a nodesCommands) noMembers(ctx context.Context) error {
	if _, err := a.fetchAll(ctx, kindOfObject(clusterVersion, api.KindMemberCluster), selection{brief: true}); err != nil {
		return err
	}
	return &Failure{Code: ExitDifferent, Message: "the fleet has no member", Next: "flotilla get members"}
}

// nodesPlanned names the next command; exit 1 when something would be disrupted.
func (a nodesCommands) nodesPlanned(members []disruption.MemberForecast) error {
	var stays, stale string
	for i := range members {
		p := &members[i]
		if len(p.Commands) > 0 {
			a.next("flotilla get disruptions -m %s -w", p.Member)
			return different()
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
		a.next("flotilla %s", stays)
	case stale != "":
		a.next("flotilla describe member/%s", stale)
	}
	return nil
}
