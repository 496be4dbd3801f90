package plan

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/schedule"
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

// foreign is what Collect reads of the documents that api.Decode does not know.
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

// foreign says whether a document is not one for api.Decode: a record of ours, or what only a KubeFleet
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
	object := f.Kind + "/" + f.Metadata.Name + " (" + d.Where + ")"
	parent := f.Metadata.Labels[labelParentPlacement]
	for _, required := range []struct{ path, found, expected string }{
		{"spec.targetCluster", f.Spec.TargetCluster, "the name of a member"},
		{`metadata.labels["` + labelParentPlacement + `"]`, parent, "the name of the placement"},
	} {
		if required.found == "" {
			c.faults = append(c.faults, api.Fault{Object: object, Path: required.path, Found: "nothing", Expected: required.expected})
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
	c.faults = append(c.faults, api.Fault{Object: kind + " (" + d.Where + ")", Found: err.Error(), Expected: "a " + kind + " as it was exported"})
}

func keyOf(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// existingOfBindings tells which policy each exported binding was made under. An exported policy
// snapshot says it by its content. Without it, the snapshot with the highest number is the present
// policy and any other is obsolete.
func existingOfBindings(key string, bound []boundMember, policies map[string]policySnapshot, current string) []schedule.Existing {
	latest := -1
	for i := range bound {
		latest = max(latest, snapshotIndex(bound[i].snapshot))
	}
	for name, p := range policies {
		if p.placement == key {
			latest = max(latest, snapshotIndex(name))
		}
	}
	existing := make([]schedule.Existing, len(bound))
	for i := range bound {
		existing[i] = bound[i].existing
		snapshot, exported := policies[bound[i].snapshot]
		switch {
		case exported:
			existing[i].Policy = snapshot.digest
		case snapshotIndex(bound[i].snapshot) == latest:
			existing[i].Policy = current
		default:
			existing[i].Policy = obsoletePolicy + bound[i].snapshot
		}
	}
	return existing
}

// snapshotIndex is the number at the end of a snapshot's name, -1 without one.
func snapshotIndex(name string) int {
	n, err := strconv.Atoi(name[strings.LastIndexByte(name, '-')+1:])
	if err != nil {
		return -1
	}
	return n
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
