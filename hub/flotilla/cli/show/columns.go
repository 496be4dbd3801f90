package show

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/duration"

	"flotilla/core/api"
	"flotilla/core/overview"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
)

// Column is one column of a row: its head, whether only -o wide shows it, and its cell.
type Column struct {
	Name string
	Wide bool
	cell any
}

// row makes the columns of an object at a moment.
type row func(obj *unstructured.Unstructured, now time.Time) []Column

// rowOf makes the columns of one kind of what its struct says.
func rowOf[T any](columns func(value *T, now time.Time) []Column) row {
	return func(obj *unstructured.Unstructured, now time.Time) []Column {
		return columns(resource.Into[T](obj), now)
	}
}

// rows are the columns of the kinds that have some of their own.
var rows = map[string]row{
	api.KindMemberCluster:               rowOf(memberColumns),
	api.KindClusterResourcePlacement:    rowOf(placementColumns),
	api.KindResourcePlacement:           rowOf(placementColumns),
	api.KindClusterResourceOverride:     rowOf(clusterOverrideColumns),
	api.KindResourceOverride:            rowOf(overrideColumns),
	api.KindClusterStagedUpdateRun:      rowOf(stagedRunColumns),
	api.KindStagedUpdateRun:             rowOf(stagedRunColumns),
	api.KindClusterStagedUpdateStrategy: rowOf(stagedStrategyColumns),
	api.KindStagedUpdateStrategy:        rowOf(stagedStrategyColumns),
	api.KindEviction:                    rowOf(evictionColumns),
	api.KindDisruptionBudget:            rowOf(budgetColumns),
	api.KindClusterApprovalRequest:      rowOf(requestColumns),
	api.KindApprovalRequest:             rowOf(requestColumns),
	api.KindRolloutCheck:                rowOf(checkColumns),
	api.KindUpdateRun:                   rowOf(runColumns),
	api.KindUpdateStrategy:              rowOf(strategyColumns),
	api.KindAutoUpgradeProfile:          rowOf(profileColumns),
	api.KindVersionCatalog:              rowOf(versionColumns),
	api.KindMemberMaintenance:           rowOf(maintenanceColumns),
	api.KindGate:                        rowOf(gateColumns),
	api.KindMemberNode:                  rowOf(nodeColumns),
	api.KindNodeDisruption:              rowOf(disruptionColumns),
	api.KindNodePool:                    rowOf(poolColumns),
	api.KindInstanceCatalog:             rowOf(instanceColumns),
}

// columnsFor are those of an object, and the member of a node unless one was named.
func columnsFor(obj *unstructured.Unstructured, member string, now time.Time) []Column {
	columns := ColumnsOf(obj.GetKind(), obj, now)
	if obj.GetKind() == api.KindMemberNode && member == "" {
		return append([]Column{{"Member", false, resource.MemberOf(obj)}}, columns...)
	}
	return columns
}

// ColumnsOf are the columns of an object of a kind.
func ColumnsOf(kind string, obj *unstructured.Unstructured, now time.Time) []Column {
	if columns, known := rows[kind]; known {
		return columns(obj, now)
	}
	return []Column{
		{"Name", false, obj.GetName()},
		{"Kind", true, obj.GetKind()},
		{"Api-Version", true, obj.GetAPIVersion()},
		{"Members", true, session.OrDash(obj.GetAnnotations()[api.AnnotationOnMembers])},
		{"Age", false, session.Since(now, obj.GetCreationTimestamp().Time)},
	}
}

// orZero is what a pointer leads to.
func orZero[T any](p *T) T {
	if p == nil {
		p = new(T)
	}
	return *p
}

func memberColumns(m *api.MemberCluster, now time.Time) []Column {
	status := orZero(m.Status)
	free := orZero(status.ResourceUsage).Available
	nodes := status.Properties[api.PropertyNodeCount].Value
	if nodes == "" && status.Nodes > 0 {
		nodes = fmt.Sprint(status.Nodes)
	}
	fleets := func(key string) bool { return strings.HasPrefix(key, fleetLabelPrefix) }
	return []Column{
		{"Name", false, m.Name},
		{"State", false, memberState(m, status.State)},
		{"Age", false, session.Since(now, m.CreationTimestamp.Time)},
		{"Version", false, session.OrDash(status.KubernetesVersion)},
		{"Nodes", false, session.OrDash(nodes)},
		{"CPU-Free", false, session.OrDash(overview.Cores(free["cpu"]))},
		{"Mem-Free", false, session.OrDash(overview.Gibibytes(free["memory"]))},
		{"Placed", false, status.Placed},
		{"Taints", true, memberTaints(m.Spec.Taints)},
		{"Agent", true, session.OrDash(status.AgentVersion)},
		{"Heartbeat", true, memberHeartbeat(status.AgentStatus, now)},
		{"Credentials", true, memberCredentials(orZero(status.Credentials), now)},
		{"Labels", false, labelPairs(m, func(key string) bool { return key != api.LabelMemberName && !fleets(key) })},
		{"Fleet-Labels", true, labelPairs(m, fleets)},
	}
}

func placementColumns(p *api.Placement, now time.Time) []Column {
	status := orZero(p.Status)
	counts := status.Counts
	return []Column{
		{"Name", false, p.Name},
		{"Gen", false, p.Generation},
		{"Want", false, wanted(p)},
		{"Picked", false, counts.Picked},
		{"Applied", false, counts.Applied},
		{"Available", false, counts.Available},
		{"Drift", false, counts.Drifted},
		{"Failed", false, counts.Failed},
		{"Age", false, session.Since(now, p.CreationTimestamp.Time)},
		{"Type", true, p.Spec.Policy.Type()},
		{"Current", true, counts.Current},
		{"Snapshot", true, session.OrDash(status.ObservedSnapshot)},
		{"State", true, overview.StateOf(p.Kind, status.Conditions)},
		// Without its beginning, which is the head of the column; or what a rollout waits for that nobody holds up.
		{"Held-Up-By", true, session.OrDash(strings.TrimPrefix(orZero(status.Rollout).Message, "held up by "))},
	}
}

// memberCredentials is for how long the credentials of an agent hold, or what is wrong with them.
func memberCredentials(c api.AgentCredentials, now time.Time) string {
	switch {
	case c.Ends.IsZero() || c.State != api.CredentialsValid && c.State != api.CredentialsOverdue:
		return session.OrDash(c.State)
	case c.State == api.CredentialsOverdue:
		return fmt.Sprintf("%s, %s left", c.State, duration.HumanDuration(c.Ends.Sub(now)))
	}
	return duration.HumanDuration(c.Ends.Sub(now)) + " left"
}

func memberState(m *api.MemberCluster, state api.MemberState) string {
	if m.DeletionTimestamp != nil {
		state = api.MemberLeaving
	}
	text := session.OrDash(string(state))
	switch {
	case api.Draining(m.Spec.Taints):
		text += ",Draining"
	case slices.ContainsFunc(m.Spec.Taints, func(t api.Taint) bool { return t.Key == api.TaintCordoned }):
		text += ",Cordoned"
	}
	return text
}

func memberTaints(all []api.Taint) string {
	var taints []string
	for _, t := range all {
		taints = append(taints, t.String())
	}
	return session.OrDash(strings.Join(taints, ","))
}

func memberHeartbeat(agents []api.AgentStatus, now time.Time) string {
	for _, agent := range agents {
		if agent.Type == api.AgentTypeMember && !agent.LastReceivedHeartbeat.IsZero() {
			return session.Since(now, agent.LastReceivedHeartbeat.Time) + " ago"
		}
	}
	return "-"
}

// fleetLabelPrefix is of labels that say where a member runs; they are long and the same in each fleet.
const fleetLabelPrefix = "fleet.azure.com/"

// labelPairs are labels as placements see them, those of the agent too.
func labelPairs(m *api.MemberCluster, shown func(key string) bool) string {
	labels := m.Labels
	if status := orZero(m.Status); status.Labels != nil {
		labels = status.Labels
	}
	var pairs []string
	for key, value := range labels {
		if shown(key) {
			pairs = append(pairs, key+"="+value)
		}
	}
	slices.Sort(pairs)
	return session.OrDash(strings.Join(pairs, ","))
}

func wanted(p *api.Placement) string {
	switch {
	case p.Status != nil && p.Status.Counts.Want >= 0:
		return fmt.Sprint(p.Status.Counts.Want)
	case p.Spec.Policy.Type() == api.PickAll:
		return "all"
	}
	return "-"
}
