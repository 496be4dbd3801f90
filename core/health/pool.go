package health

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/disruption"
	"flotilla/core/phrase"
)

// reasonLint is that of problems about budgets that cannot mean what was wanted (N3).
const reasonLint = "BudgetLint"

// reasonNotInCatalog is that of problems about nodes whose price nobody knows (N20).
const reasonNotInCatalog = string(disruption.CodeNotInCatalog)

// Pool returns the problems of a NodePool: that it waits to go, since it was deleted, or else budgets that cannot mean
// what was wanted and nodes without a price, since it was created.
func Pool(name string, created metav1.Time, deleted *metav1.Time, status *api.NodePoolStatus) (problems []api.Problem) {
	object, next := api.AuditObject(api.AuditNodePool, name), "flotilla describe nodepool "+name
	if deleted != nil {
		return []api.Problem{Deleting(object, next, deleted, status.Unconfirmed)}
	}
	add := func(reason, message string) {
		problems = append(problems, api.Problem{Object: object, Reason: reason, Message: message, Since: created, Next: next})
	}
	for _, lint := range status.Lint {
		add(reasonLint, briefly(strings.TrimPrefix(lint, reasonLint+": ")))
	}
	if text := unlistedText(status); text != "" {
		add(reasonNotInCatalog, text)
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
	return fmt.Sprintf("%s on %s without a price, so that they are not consolidated: InstanceCatalog %s does not list %s", phrase.Count(nodes, "node"), phrase.Enumerate(members), first.Catalog, first.Example)
}

// briefly is a warning without the corrected form that it ends with.
func briefly(lint string) string {
	line, _, corrected := strings.Cut(lint, "\n")
	if at := strings.LastIndex(line, "; "); corrected && at >= 0 {
		return line[:at]
	}
	return line
}
