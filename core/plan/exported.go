package plan

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/phrase"
	"flotilla/core/schedule"
	"flotilla/core/strict"
)

// Kinds that a KubeFleet hub exports and that tell something about present bindings.
const (
	kindBinding           = "ClusterResourceBinding"
	kindNamespacedBinding = "ResourceBinding"
	kindPolicySnapshot    = "ClusterSchedulingPolicySnapshot"
	kindNamespacedPolicy  = "SchedulingPolicySnapshot"
	labelParentPlacement  = "kubernetes-fleet.io/parent-CRP"
	obsoletePolicy        = "obsolete/"
)

// ignoredKinds are other exports of a KubeFleet hub, which people have in the same file.
var ignoredKinds = map[string]bool{
	"ClusterResourceSnapshot": true, "ResourceSnapshot": true, "Work": true, "InternalMemberCluster": true,
	"ClusterResourceOverrideSnapshot": true, "ResourceOverrideSnapshot": true, "ClusterResourcePlacementStatus": true,
}

// foreign is what Collect reads of the documents that validate.Decode does not know.
type foreign struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        metav1.ObjectMeta `json:"metadata"`
	Level           int               `json:"level"`
	Spec            struct {
		State                        api.BindingState `json:"state"`
		TargetCluster                string           `json:"targetCluster"`
		SchedulingPolicySnapshotName string           `json:"schedulingPolicySnapshotName"`
		ClusterDecision              struct {
			ClusterScore *struct {
				AffinityScore *int32 `json:"affinityScore"`
				PriorityScore *int32 `json:"priorityScore"`
			} `json:"clusterScore"`
		} `json:"clusterDecision"`
		Policy *api.Policy `json:"policy"`
	} `json:"spec"`
}

// boundMember is one exported binding.
type boundMember struct {
	existing schedule.Existing
	snapshot string
}

// policySnapshot is one exported policy snapshot.
type policySnapshot struct {
	placement string
	digest    string
}

// foreign says whether a document is not one for validate.Decode: a record of ours, or what only a KubeFleet
// hub makes.
func (d *Document) foreign() bool {
	switch d.Object.Kind {
	case api.KindSchedule, api.KindInventory:
		return d.Object.APIVersion == ""
	case api.KindGate:
		return d.Object.APIVersion == api.VersionFlotilla
	case kindBinding, kindNamespacedBinding, kindPolicySnapshot, kindNamespacedPolicy:
	default:
		if !ignoredKinds[d.Object.Kind] {
			return false
		}
	}
	return strings.HasPrefix(d.Object.APIVersion, api.GroupPlacement+"/") || strings.HasPrefix(d.Object.APIVersion, api.GroupCluster+"/")
}

func (c *collector) readForeign(d *Document) {
	switch d.Object.Kind {
	case api.KindSchedule:
		c.readSchedule(d)
	case api.KindInventory:
		c.readInventory(d)
	case kindBinding, kindNamespacedBinding:
		c.readBinding(d)
	case kindPolicySnapshot, kindNamespacedPolicy:
		c.readPolicy(d)
	default:
		c.ignored[d.Object.Kind]++
	}
}

func (c *collector) readSchedule(d *Document) {
	s := &api.Schedule{}
	if err := json.Unmarshal(d.JSON, s); err != nil {
		c.malformed(d, api.KindSchedule, err)
		return
	}
	c.schedules[s.Placement] = s
}

func (c *collector) readBinding(d *Document) {
	var f foreign
	if err := json.Unmarshal(d.JSON, &f); err != nil {
		c.malformed(d, kindBinding, err)
		return
	}
	object := f.Kind + "/" + f.Metadata.Name
	parent := f.Metadata.Labels[labelParentPlacement]
	for _, required := range []struct{ path, found, expected string }{
		{"spec.targetCluster", f.Spec.TargetCluster, "the name of a member"},
		{`metadata.labels["` + labelParentPlacement + `"]`, parent, "the name of the placement"},
	} {
		if required.found == "" {
			c.faults = append(c.faults, strict.Fault{Object: object, Document: d.number, Path: required.path, Found: "nothing", Expected: required.expected})
		}
	}
	if f.Metadata.DeletionTimestamp != nil {
		return
	}
	b := boundMember{snapshot: f.Spec.SchedulingPolicySnapshotName}
	b.existing.Member, b.existing.State = f.Spec.TargetCluster, f.Spec.State
	if b.existing.State == "" {
		b.existing.State = api.BindingBound
	}
	if score := f.Spec.ClusterDecision.ClusterScore; score != nil {
		b.existing.AffinityScore, b.existing.SpreadScore = score.AffinityScore, score.PriorityScore
	}
	key := keyOf(f.Metadata.Namespace, parent)
	c.bindings[key] = append(c.bindings[key], b)
}

func (c *collector) readPolicy(d *Document) {
	var f foreign
	if err := json.Unmarshal(d.JSON, &f); err != nil {
		c.malformed(d, kindPolicySnapshot, err)
		return
	}
	parent := f.Metadata.Labels[labelParentPlacement]
	c.policies[f.Metadata.Name] = policySnapshot{
		placement: keyOf(f.Metadata.Namespace, parent), digest: schedule.PolicyDigest(f.Spec.Policy),
	}
}

func (c *collector) malformed(d *Document, kind string, err error) {
	c.faults = append(c.faults, strict.Fault{Object: kind, Document: d.number, Kind: strict.FaultType, Found: err.Error(), Expected: "a " + kind + " as it was exported"})
}

func keyOf(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// existingOfBindings tells which policy each exported binding was made under: its policy snapshot says
// it by its content. A binding whose snapshot is not exported is one of an older policy, and judged anew
// (D25); the names of these snapshots are returned, "" for a binding that gives none.
func existingOfBindings(bound []boundMember, policies map[string]policySnapshot) (existing []schedule.Existing, missing []string) {
	existing = make([]schedule.Existing, len(bound))
	for i := range bound {
		existing[i] = bound[i].existing
		snapshot, exported := policies[bound[i].snapshot]
		if exported {
			existing[i].Policy = snapshot.digest
			continue
		}
		existing[i].Policy = obsoletePolicy + bound[i].snapshot
		missing = append(missing, bound[i].snapshot)
	}
	return existing, missing
}

// unknownPolicies says that bindings are judged anew because the files do not hold the policy snapshots
// that they were made under, and how to get those.
func unknownPolicies(p *api.Placement, missing []string) string {
	bindings := len(missing)
	slices.Sort(missing)
	names := slices.DeleteFunc(slices.Compact(missing), func(name string) bool { return name == "" })
	text := fmt.Sprintf("%s/%s: %d %s judged anew, as of an older policy, because the files lack ", p.Kind, p.Key(), bindings,
		phrase.Plural(bindings, "binding is", "bindings are"))
	if len(names) == 0 {
		return text + "the policy " + phrase.Plural(bindings, "snapshot it was", "snapshots they were") + " made under"
	}
	kind, namespace := "clusterschedulingpolicysnapshots", ""
	if p.Namespace != "" {
		kind, namespace = "schedulingpolicysnapshots", "-n "+p.Namespace+" "
	}
	return fmt.Sprintf("%s; add: kubectl get %s%s %s -o yaml", text+strings.Join(names, ", "), namespace, kind, strings.Join(names, " "))
}

func statusOf(document json.RawMessage) *api.PlacementStatus {
	var p struct {
		Status *api.PlacementStatus `json:"status"`
	}
	if json.Unmarshal(document, &p) != nil {
		return nil
	}
	return p.Status
}

// scoresInMessage finds the scores of a pick in the message of its condition Scheduled.
var scoresInMessage = regexp.MustCompile(`affinity score: (-?\d+), topology spread score: (-?\d+)`)

// existingOfStatus reads the members that a placement's status lists as scheduled.
func existingOfStatus(status *api.PlacementStatus, current string) []schedule.Existing {
	var existing []schedule.Existing
	for i := range status.PlacementStatuses {
		m := &status.PlacementStatuses[i]
		if m.ClusterName == "" {
			continue
		}
		e := schedule.Existing{Member: m.ClusterName, Policy: current, State: api.BindingBound}
		for j := range m.Conditions {
			if found := scoresInMessage.FindStringSubmatch(m.Conditions[j].Message); found != nil {
				e.AffinityScore, e.SpreadScore = score(found[1]), score(found[2])
			}
		}
		existing = append(existing, e)
	}
	return existing
}

func score(digits string) *int32 {
	n, err := strconv.ParseInt(digits, 10, 32)
	if err != nil {
		return nil
	}
	value := int32(n)
	return &value
}
