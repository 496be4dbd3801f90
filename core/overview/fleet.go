package overview

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// Fleet is all that a page shows of the fleet at once.
type Fleet struct {
	// Mark is the revision of state that the rows were read at, "epoch.revision": they hold all of state up to it.
	Mark string      `json:"mark"`
	At   metav1.Time `json:"at"`
	// Status is what status said of the fleet at StatusAt, a moment ago.
	Status   api.FleetStatus `json:"status"`
	StatusAt metav1.Time     `json:"statusAt"`
	// Members are sorted by name, Placements by key, Runs the newest first.
	Members    []Member    `json:"members"`
	Placements []Placement `json:"placements"`
	Runs       []Run       `json:"runs"`
}

// Member is the row of a member, nil where there is none.
func (f *Fleet) Member(name string) *Member {
	return find(f.Members, func(m *Member) bool { return m.Name == name })
}

// Placement is the row of a placement, nil where there is none.
func (f *Fleet) Placement(key string) *Placement {
	return find(f.Placements, func(p *Placement) bool { return p.Key == key })
}

// Run is the row of a run, nil where there is none.
func (f *Fleet) Run(key string) *Run { return find(f.Runs, func(r *Run) bool { return r.Key == key }) }

// RunsOf are the staged runs of the content of a placement that have not ended.
func (f *Fleet) RunsOf(placement string) (runs []Run) {
	for i := range f.Runs {
		if r := &f.Runs[i]; strings.HasSuffix(r.Target, " of "+placement) && r.Kind != api.KindUpdateRun && r.Ended.IsZero() {
			runs = append(runs, *r)
		}
	}
	return runs
}

func find[R any](rows []R, is func(*R) bool) *R {
	for i := range rows {
		if is(&rows[i]) {
			return &rows[i]
		}
	}
	return nil
}

// Member is one member, admitted or only heard of. It is shared and must not be changed.
type Member struct {
	Name string `json:"name"`
	// State is as the hub judges it; a member that leaves keeps the one it has, see Shown.
	State api.MemberState `json:"state"`
	// Created is when it was admitted, zero for one that was not.
	Created metav1.Time `json:"created,omitzero"`
	// Since is when it came to be in its state, LastSeen when it was last heard of; zero for one that never was.
	Since    metav1.Time       `json:"since,omitzero"`
	LastSeen metav1.Time       `json:"lastSeen,omitzero"`
	Message  string            `json:"message,omitempty"`
	Labels   map[string]string `json:"labels,omitempty"`
	Region   string            `json:"region,omitempty"`
	Zone     string            `json:"zone,omitempty"`
	Facts
	Membership
	// Placements counts the placements that the member is to hold, Troubled those that the status records name as failed,
	// drifted or not available there.
	Placements int `json:"placements"`
	Troubled   int `json:"troubled,omitempty"`
}

// Facts are what a member tells of itself.
type Facts struct {
	// Version is of Kubernetes, Agent of the agent.
	Version string `json:"version,omitempty"`
	Agent   string `json:"agent,omitempty"`
	// Nodes counts nodes; CPU and Memory are quantities of what is free, as observed.
	Nodes  int    `json:"nodes,omitempty"`
	CPU    string `json:"cpu,omitempty"`
	Memory string `json:"memory,omitempty"`
}

// Membership is how a member belongs to the fleet.
type Membership struct {
	// Admitted is false for a member that heartbeats and that nobody admitted.
	Admitted bool `json:"admitted"`
	Cordoned bool `json:"cordoned,omitempty"`
	Draining bool `json:"draining,omitempty"`
	Leaving  bool `json:"leaving,omitempty"`
	// Taints are as tables show them, "flotilla.io/cordoned:NoSchedule".
	Taints []string `json:"taints,omitempty"`
	// Credentials says how those of its agent stand, empty where others made them.
	Credentials string `json:"credentials,omitempty"`
}

// Shown is the state as tables show it: Leaving while the member leaves.
func (m *Member) Shown() api.MemberState {
	if m.Leaving {
		return api.MemberLeaving
	}
	return m.State
}

// Sign is how the member does. One that is Ready and leaves is Moving, one with placements in trouble a warning.
func (m *Member) Sign() Sign {
	sign := SignOfMember(m.State)
	switch {
	case sign == Well && m.Troubled > 0:
		return Warn
	case sign == Well && m.Leaving:
		return Moving
	}
	return sign
}

// Labels that say where a member is; of each list the first that it has counts.
var (
	regionLabels = []string{"topology.kubernetes.io/region", "region"}
	zoneLabels   = []string{"topology.kubernetes.io/zone", "zone"}
)

// Place is where a member is, by its labels topology.kubernetes.io/region and /zone, else region and zone, else, of the
// region, by what its inventory says; empty where nothing tells.
func Place(labels map[string]string, inventory string) (region, zone string) {
	first := func(keys []string) string {
		for _, key := range keys {
			if labels[key] != "" {
				return labels[key]
			}
		}
		return ""
	}
	if region = first(regionLabels); region == "" {
		region = inventory
	}
	return region, first(zoneLabels)
}

// Placement is one placement with what its status says.
type Placement struct {
	// Key is the name of a ClusterResourcePlacement, "namespace/name" of a ResourcePlacement.
	Key       string      `json:"key"`
	Kind      string      `json:"kind"`
	Namespace string      `json:"namespace,omitempty"`
	Name      string      `json:"name"`
	Type      string      `json:"type"` // PickAll, PickN or PickFixed
	Created   metav1.Time `json:"created"`
	Edition
	Counts api.PlacementCounts `json:"counts"`
	Sign   Sign                `json:"sign"`
	// State is as tables show it, the first condition that is not True with its status, "Applied=False"; Message is of that
	// condition, Since when it turned.
	State   string      `json:"state"`
	Message string      `json:"message,omitempty"`
	Since   metav1.Time `json:"since,omitzero"`
	Hold
	Progress
	// Fault says why its spec cannot be read; then all else is unknown.
	Fault string `json:"fault,omitempty"`
}

// Edition is which content of a placement is out.
type Edition struct {
	// Generation is of the spec, Observed the one that the status is about.
	Generation int64 `json:"generation"`
	Observed   int64 `json:"observed"`
	// Snapshot is what is rolled out, 0 before there is one.
	Snapshot int64 `json:"snapshot,omitempty"`
}

// Hold is what keeps a placement as it is, or takes it away.
type Hold struct {
	// Deleting says that its deletion waits for members.
	Deleting bool `json:"deleting,omitempty"`
	// Paused says that no member moves, by whom and why, also where that is a freeze: then Frozen is what is frozen.
	Paused *api.Pause `json:"paused,omitempty"`
	Frozen string     `json:"frozen,omitempty"`
	Pinned *api.Pin   `json:"pinned,omitempty"`
	// Held says that a withdrawal is held until somebody approves of it.
	Held bool `json:"held,omitempty"`
}

// Progress is what a rollout waits for.
type Progress struct {
	Checks *api.CheckStatus `json:"checks,omitempty"`
	// Waits says in one sentence what the rollout waits for; HeldUpBy are the first members it waits for, HeldUpTotal all.
	Waits       string       `json:"waits,omitempty"`
	HeldUpBy    []api.HeldUp `json:"heldUpBy,omitempty"`
	HeldUpTotal int          `json:"heldUpTotal,omitempty"`
}

// Run is one update run or staged run of content.
type Run struct {
	// Key is the name, "namespace/name" of a StagedUpdateRun.
	Key     string          `json:"key"`
	Name    string          `json:"name"`
	Kind    string          `json:"kind"`
	State   api.UpdateState `json:"state"`
	Sign    Sign            `json:"sign"`
	Message string          `json:"message,omitempty"`
	// Stage is the one the run is at, "2/3 prod"; empty before it starts and after it ended.
	Stage string `json:"stage,omitempty"`
	RunCounts
	// Waits are the first things that the run waits for, WaitsTotal counts all.
	Waits      []string    `json:"waits,omitempty"`
	WaitsTotal int         `json:"waitsTotal,omitempty"`
	Created    metav1.Time `json:"created"`
	Started    metav1.Time `json:"started,omitzero"`
	Ended      metav1.Time `json:"ended,omitzero"`
	// Target is what members get, "Full to 1.31.2", "snapshot 12 of web".
	Target string `json:"target,omitempty"`
}

// RunCounts count the members of a run.
type RunCounts struct {
	Members  int `json:"members"`
	Finished int `json:"finished"` // failed ones included
	Failed   int `json:"failed"`
	// FailedHere counts those of the stage that the run is at, which may be as many as Tolerated.
	FailedHere int `json:"failedHere,omitempty"`
	Tolerated  int `json:"tolerated,omitempty"`
}
