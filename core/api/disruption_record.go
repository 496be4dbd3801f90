package api

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Kinds of the records and messages of disruptions.
const (
	KindDisruptionRecord  = "DisruptionRecord"
	KindPoolRecord        = "PoolRecord"
	KindDisruptionCommand = "DisruptionCommand"
	KindDisruptionResult  = "DisruptionResult"
)

// Phases of a disruption.
const (
	PhaseLaunching = "Launching" // replacements are on their way; nodes are tainted
	PhaseDraining  = "Draining"  // nodes are being emptied
	PhaseDone      = "Done"
	PhaseAborted   = "Aborted" // taints are to be taken off
)

// What a disruption that a person asked for carries as its method and reason (N17); no budget names
// them.
const (
	MethodManual  = "manual"
	ReasonDeleted = "Deleted"
)

// DisruptionRecord is the value of disruption.<member>: what the hub has decided and has not seen
// finished, written by the disruptor alone.
type DisruptionRecord struct {
	Header
	Member      string       `json:"member"`
	Generation  int64        `json:"generation"`
	Disruptions []Disruption `json:"disruptions,omitempty"`
	// Backoffs are nodes whose last disruption failed, and until when they are left alone (N8).
	Backoffs []NodeBackoff `json:"backoffs,omitempty"`
	// DriftedSince is when each drifted node was first seen to be, by name.
	DriftedSince map[string]metav1.Time `json:"driftedSince,omitempty"`
	// Taken are the nodes of which was told that Karpenter takes them away by itself, by name their uid.
	Taken map[string]string `json:"taken,omitempty"`
	// Stale says why nothing is decided for the member, empty when decisions are made.
	Stale string `json:"stale,omitempty"`
	// StaleSince is since when nothing is decided, for whatever reason.
	StaleSince metav1.Time `json:"staleSince,omitzero"`
	// Pools are what the replacements of running disruptions are made from, by name.
	Pools []PoolTemplate `json:"pools,omitempty"`
	// Stamps are those of the pools that have nodes without, by name.
	Stamps []PoolStamp `json:"stamps,omitempty"`
}

// PoolStamp is what nodes of a pool are stamped with that nobody launched for it, when they are first seen: by
// that a later change of the pool or its node class is told (N21).
type PoolStamp struct {
	Pool      string `json:"pool"`
	Hash      string `json:"hash"`
	ClassHash string `json:"classHash,omitempty"`
}

// Disruption is one command on its way.
type Disruption struct {
	// ID is unique on the member and made of its nodes and the generation it was decided in.
	ID     string `json:"id"`
	Reason string `json:"reason"`
	Method string `json:"method"`
	Phase  string `json:"phase"`
	// Message says what is waited for, or what went wrong.
	Message string   `json:"message,omitempty"`
	Nodes   []string `json:"nodes"`
	// UIDs are those of the nodes, by name: a node deleted and made again is another one.
	UIDs         map[string]string `json:"uids,omitempty"`
	Replacements []NodeReplacement `json:"replacements,omitempty"`
	// Moves are where each pod was expected to go. Of nodes of static pools that drifted, and of nodes that
	// expired by force, nobody waits for these places, nor keeps them.
	Moves []PodMove `json:"moves,omitempty"`
	// Killed are the pods that the terminationGracePeriod of their node ends past what protects them (N25);
	// those that had room in the simulation are among Moves too.
	Killed []KilledPod `json:"killed,omitempty"`
	// Savings per hour.
	Savings  Hourly      `json:"savings"`
	Decided  metav1.Time `json:"decided"`
	Deadline metav1.Time `json:"deadline,omitzero"`
	Forceful bool        `json:"forceful,omitempty"`
	// Drift is the reason of a drift.
	Drift string `json:"drift,omitempty"`
	// Request is the id of the request that asked for it, when a person did.
	Request string `json:"request,omitempty"`
	// Ended is when the agent had done what it was told: the nodes are gone, or an abort is carried out.
	// A disruption that has ended is kept for people to read.
	Ended metav1.Time `json:"ended,omitzero"`
}

// Running reports whether a disruption still holds its nodes.
func (d *Disruption) Running() bool {
	return d.Phase == PhaseLaunching || d.Phase == PhaseDraining
}

// NodeReplacement is a node to launch before others go.
type NodeReplacement struct {
	// Name is the name the agent gives the launch, unique on the member.
	Name string `json:"name"`
	Pool string `json:"pool"`
	// InstanceTypes are cheapest first; any of them will do.
	InstanceTypes []string          `json:"instanceTypes"`
	Requirements  []NodeRequirement `json:"requirements,omitempty"`
	// Types are the first of InstanceTypes, at most MaxLaunchTypes, as the catalog has them.
	Types []LaunchType `json:"types,omitempty"`
	// Requests are what the pods that were meant for it ask for, its daemons included.
	Requests Amounts `json:"requests,omitempty"`
	// Node is the node that was launched, empty until it is known; Initialized once it can be used.
	Node        string `json:"node,omitempty"`
	Initialized bool   `json:"initialized,omitempty"`
	// Failed says why the launch failed for good.
	Failed string `json:"failed,omitempty"`
}

// MaxLaunchTypes is of how many instance types a replacement tells more than the name.
const MaxLaunchTypes = 10

// LaunchType is an instance type as one who launches it needs it.
type LaunchType struct {
	Name string `json:"name"`
	// Labels are those that the type gives its nodes, beside zone and capacity type.
	Labels      map[string]string `json:"labels,omitempty"`
	Capacity    Amounts           `json:"capacity,omitempty"`
	Allocatable Amounts           `json:"allocatable,omitempty"`
	// Offerings are the ways to buy it that suit the replacement, cheapest first.
	Offerings []InstanceOffering `json:"offerings,omitempty"`
}

// PodMove is one pod's way from a node that goes.
type PodMove struct {
	Pod  string `json:"pod"`
	From string `json:"from,omitempty"`
	// To is a node's name, or "new-0" for the first replacement; empty for a pod that is lost, or that
	// finds room nowhere.
	To string `json:"to,omitempty"`
	// Lost says that nothing makes the pod again: it has no controller.
	Lost bool `json:"lost,omitempty"`
	// Nowhere says why no node takes the pod, empty when one does.
	Nowhere string `json:"nowhere,omitempty"`
}

// Where says where the pod goes, or why it goes nowhere.
func (m *PodMove) Where() string {
	switch {
	case m.Lost:
		return "lost: it has no controller, and nothing makes it again"
	case m.Nowhere != "":
		return "nowhere: " + m.Nowhere
	default:
		return m.To
	}
}

// KilledPod is a pod that do-not-disrupt or a PodDisruptionBudget protects, and that is deleted all the same
// in time for the end of its node's terminationGracePeriod, with the way of the pod after it.
type KilledPod struct {
	PodMove
	// At is when it is deleted: After the drain of its node began. Until that has begun it is the earliest
	// moment, as if the drain began at once.
	At    metav1.Time     `json:"at"`
	After metav1.Duration `json:"after"`
	// WithNode says that no drain waits for the pod, so that it ends with the machine, At at the latest.
	WithNode bool `json:"withNode,omitempty"`
	// Code, Message and About say what protects it until then, as refusals of verdicts do.
	Code    string `json:"code"`
	Message string `json:"message"`
	About   string `json:"about,omitempty"`
}

// NodeBackoff keeps a node from being disrupted again at once (N8).
type NodeBackoff struct {
	Node     string      `json:"node"`
	Failures int         `json:"failures"`
	Until    metav1.Time `json:"until"`
	Why      string      `json:"why,omitempty"`
}

// PoolRecord is the value of pool.<name>: the state of a pool over all its members.
type PoolRecord struct {
	Header
	Pool string `json:"pool"`
	// UID is that of the NodePool, Deleting that its deletion was seen: only then do the Members tell the
	// door what the deletion waits for.
	UID      string       `json:"uid,omitempty"`
	Deleting bool         `json:"deleting,omitempty"`
	Lint     []string     `json:"lint,omitempty"`
	Members  []PoolMember `json:"members,omitempty"`
}

// PoolMember is a pool on one member: those that have the pool, and those that have nodes of it still.
type PoolMember struct {
	Member     string `json:"member"`
	Nodes      int    `json:"nodes"`
	Disrupting int    `json:"disrupting"`
	// Allowed is how many more nodes may be disrupted now, by reason; a reason without limit is
	// absent.
	Allowed map[string]int `json:"allowed,omitempty"`
	// NotInCatalog is how many of Nodes are of a type, or in a zone and capacity type, that the member's
	// InstanceCatalog does not list; Example names one, and Catalog the catalog.
	NotInCatalog int    `json:"notInCatalog,omitempty"`
	Example      string `json:"example,omitempty"`
	Catalog      string `json:"catalog,omitempty"`
	// Unknown says why the nodes cannot be counted now, empty when they are.
	Unknown string `json:"unknown,omitempty"`
}

// DisruptionCommand is the whole wanted set of disruptions of a member, on
// command.<member>.disruption.
type DisruptionCommand struct {
	Header
	Member      string       `json:"member"`
	Order       Order        `json:"order"`
	Disruptions []Disruption `json:"disruptions"`
	// Pools are what replacements are made from.
	Pools []PoolTemplate `json:"pools,omitempty"`
	// Stamps are what nodes of pools get that carry none.
	Stamps []PoolStamp `json:"stamps,omitempty"`
	// Leaving says that the member leaves the fleet: the agent takes its finalizers and taints off and
	// manages nodes no more, until a later command says otherwise.
	Leaving bool `json:"leaving,omitempty"`
}

// PoolTemplate is what nodes of a pool are made from.
type PoolTemplate struct {
	Name     string           `json:"name"`
	Template NodePoolTemplate `json:"template"`
	// Hash and ClassHash are stamped on new nodes, so that drift can be told.
	Hash      string `json:"hash"`
	ClassHash string `json:"classHash,omitempty"`
	// ExpireAfter is stamped on new nodes: it is that of the moment they are made.
	ExpireAfter string `json:"expireAfter,omitempty"`
}

// DisruptionResult is a result of kind disruption, named by its id, in a ResultBatch.
type DisruptionResult struct {
	Header
	Member       string            `json:"member"`
	ID           string            `json:"id"`
	Order        Order             `json:"order"`
	Phase        string            `json:"phase"`
	Message      string            `json:"message,omitempty"`
	Replacements []NodeReplacement `json:"replacements,omitempty"`
	// Gone are the nodes that are deleted.
	Gone    []string    `json:"gone,omitempty"`
	Changed metav1.Time `json:"changed"`
}
