package door

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/disruption"
	"flotilla/subjects"
)

// reasonLint is that of problems about budgets that cannot mean what was wanted (disruption.md N3).
const reasonLint = "BudgetLint"

// reasonUnlisted is that of problems about nodes whose price nobody knows (N20).
const reasonUnlisted = string(disruption.CodeNotInCatalog)

// poolRecord is what the disruptor says of the NodePool that stored is of, nil while it says nothing of it.
func (r *records) poolRecord(stored *api.Spec) *api.PoolRecord {
	record, _, found := r.pools.Get(stored.Object.Name)
	if !found || record.UID != stored.UID {
		return nil
	}
	return &record
}

// renderPool shows a NodePool with its nodes on all members.
func (d *Door) renderPool(entry *bus.Entry[api.Spec]) (json.RawMessage, error) {
	pool, err := api.SpecOf[api.NodePool](&entry.Value)
	if err != nil {
		return d.complete(&entry.Value, entry.Revision, entry.Value.Body, nil)
	}
	return d.complete(&entry.Value, entry.Revision, entry.Value.Body, capacity.StatusOfPool(pool, d.records.poolRecord(&entry.Value)))
}

// finishPool ends the deletion of a NodePool once none of its nodes is left on any member. It waits for that
// without end, as a finalizer does.
func (d *Door) finishPool(ctx context.Context, stored *api.Spec, revision uint64) error {
	if _, _, _, err := d.records.pools.Find(stored.Object.Name); err != nil {
		return err
	}
	if _, over := capacity.PoolRemains(d.records.poolRecord(stored)); !over {
		return nil // the disruptor's next record wakes us
	}
	return d.end(ctx, stored, revision, nil)
}

// poolProblems are about NodePools that wait to go, and those whose budgets cannot mean what was wanted.
func (d *Door) poolProblems() []api.Problem {
	var problems []api.Problem
	for _, entry := range d.records.specs[api.KindNodePool].All() {
		problem := api.Problem{Object: subjects.KindNodePool + "/" + entry.Name, Next: "flotilla describe nodepool " + entry.Name}
		pool, err := api.SpecOf[api.NodePool](&entry.Value)
		if err != nil { // a problem of its own, see unreadableProblems
			continue
		}
		status := capacity.StatusOfPool(pool, d.records.poolRecord(&entry.Value))
		if entry.Value.Deleted != nil {
			problem.Reason, problem.Since = reasonDeleting, *entry.Value.Deleted
			problem.Message = "waits for " + enumerate(status.Unconfirmed)
			problems = append(problems, problem)
			continue
		}
		for _, lint := range status.Lint {
			problem.Reason, problem.Since = reasonLint, entry.Value.Created
			problem.Message = briefly(strings.TrimPrefix(lint, reasonLint+": "))
			problems = append(problems, problem)
		}
		if problem.Message = unlistedText(&status); problem.Message != "" {
			problem.Reason, problem.Since = reasonUnlisted, entry.Value.Created
			problems = append(problems, problem)
		}
	}
	return problems
}

// unlistedText says of how many nodes of a pool no price is known, "" when it is of all.
func unlistedText(status *api.NodePoolStatus) string {
	nodes, first := 0, api.PoolMember{}
	var members []string
	for i := range status.Members {
		m := &status.Members[i]
		if m.NotInCatalog == 0 {
			continue
		}
		if nodes += m.NotInCatalog; len(members) == 0 {
			first = *m
		}
		members = append(members, m.Member)
	}
	if nodes == 0 {
		return ""
	}
	return fmt.Sprintf("%s on %s without a price, so that they are not consolidated: InstanceCatalog %s does not list %s", count(nodes, "node"), enumerate(members), first.Catalog, first.Example)
}

// briefly is a warning without the corrected form that it ends with.
func briefly(lint string) string {
	line, _, corrected := strings.Cut(lint, "\n")
	if at := strings.LastIndex(line, "; "); corrected && at >= 0 {
		return line[:at]
	}
	return line
}
