package memory

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"flotilla/agent/target"
	"flotilla/agent/target/memory/faults"
	"flotilla/core/api"
	"flotilla/core/upgrade"
)

// Pace is how long the member's provider takes.
type Pace struct {
	ControlPlane time.Duration
	// NodePool is for one pool; its nodes are made anew one after another, in equal parts of it.
	NodePool time.Duration
	// Images are the newest that the provider offers, by full name, one of each family.
	Images []string
}

// UpgradeState is how an upgrade does.
type UpgradeState struct {
	Percent int
	Message string
	// Pools that were moved so far.
	Pools []string
	Ended bool
	// Fault says why it failed, empty when it did not.
	Fault string
	// Changed is closed when there is a newer state.
	Changed <-chan struct{}
}

// upgrades are what the provider was asked to do, in order; at most one runs.
type upgrades struct {
	begun   []*provision
	running *provision
}

// provision is one upgrade by the provider. As JSON it is what is kept of it.
type provision struct {
	Operation api.UpgradeOperation `json:"operation"`
	Began     time.Time            `json:"began"`
	Steps     []provisionStep      `json:"steps"`
	At        int                  `json:"at"` // in Steps
	Notes     []string             `json:"notes,omitempty"`
	Pools     []string             `json:"pools,omitempty"`
	Ended     bool                 `json:"ended,omitempty"`
	Fault     string               `json:"fault,omitempty"`
	parked    bool                 // it stands still on request
	changed   chan struct{}
}

// provisionStep is one change of the member, due so long after the beginning: its control plane moves to
// Version, or a node, if any, is made anew as Pool is. The last step of a pool moves the pool.
type provisionStep struct {
	Due     time.Duration      `json:"due"`
	Kind    string             `json:"kind"` // controlPlane or the pool
	Text    string             `json:"text"`
	Version string             `json:"version,omitempty"`
	Pool    *api.NodePoolFacts `json:"pool,omitempty"`
	Node    string             `json:"node,omitempty"`
	Last    bool               `json:"last,omitempty"`
}

const stepControlPlane = "controlPlane"

// BeginUpgrade makes the provider carry out an operation; UpgradeState tells how it does. It refuses an
// id it had before, and while another one runs.
func (m *Member) BeginUpgrade(op api.UpgradeOperation, pace Pace) error {
	m.mu.Lock()
	defer m.unlock()
	if m.provision(op.ID) != nil {
		return fmt.Errorf("operation %s was carried out already", op.ID)
	}
	if other := m.upgrades.running; other != nil {
		return fmt.Errorf("operation %s is in progress on member %s", other.Operation.ID, m.name)
	}
	if m.faults.Busy != "" {
		return fmt.Errorf("operation %s of somebody else is in progress on member %s", m.faults.Busy, m.name)
	}
	u := &provision{Operation: op, Began: m.clock.Now(), changed: make(chan struct{})}
	if err := m.plan(u, pace); err != nil {
		return err
	}
	m.upgrades.begun, m.upgrades.running = append(m.upgrades.begun, u), u
	m.notify(target.Change{Nodes: true})
	m.beginStep(u)
	return nil
}

// UpgradeState tells how an operation does; false when it was never begun here.
func (m *Member) UpgradeState(id string) (UpgradeState, bool) {
	m.mu.Lock()
	defer m.unlock()
	u := m.provision(id)
	if u == nil {
		return UpgradeState{}, false
	}
	s := UpgradeState{Percent: 100, Pools: slices.Clone(u.Pools), Ended: u.Ended, Fault: u.Fault, Changed: u.changed, Message: strings.Join(u.Notes, "; ")}
	if !u.Ended && u.At < len(u.Steps) {
		s.Percent, s.Message = 100*u.At/len(u.Steps), u.Steps[u.At].Text
	}
	return s, true
}

// UpgradesBegun lists the ids of the operations that were carried out, the running one included, in
// their order.
func (m *Member) UpgradesBegun() []string {
	m.mu.Lock()
	defer m.unlock()
	out := make([]string, len(m.upgrades.begun))
	for i, u := range m.upgrades.begun {
		out[i] = u.Operation.ID
	}
	return out
}

func (m *Member) provision(id string) *provision {
	at := slices.IndexFunc(m.upgrades.begun, func(u *provision) bool { return u.Operation.ID == id })
	if at < 0 {
		return nil
	}
	return m.upgrades.begun[at]
}

// beginStep begins the next step, or ends the upgrade after the last one.
func (m *Member) beginStep(u *provision) {
	if u.At == len(u.Steps) {
		m.endUpgrade(u, "")
		return
	}
	if node := u.Steps[u.At].Node; node != "" {
		m.emptyNode(node)
	}
	u.tell()
	m.awaitStep(u)
}

// awaitStep ends the step that was begun when it is due.
func (m *Member) awaitStep(u *provision) {
	m.keep.stale()
	m.after(u.Began.Add(u.Steps[u.At].Due).Sub(m.clock.Now()), func() { m.endStep(u) })
}

// endStep finishes a step, unless a fault says otherwise.
func (m *Member) endStep(u *provision) {
	step := &u.Steps[u.At]
	if u.parked = faults.HitsUpgrade(m.faults.HangUpgrade, &u.Operation, step.Kind); u.parked {
		return
	}
	if faults.HitsUpgrade(m.faults.FailUpgrade, &u.Operation, step.Kind) {
		m.endUpgrade(u, step.Text+": failed on request")
		return
	}
	m.carryOut(u, step)
	u.At++
	m.beginStep(u)
}

// carryOut changes the member as a step says.
func (m *Member) carryOut(u *provision, step *provisionStep) {
	if step.Kind == stepControlPlane {
		m.version = step.Version
	}
	if step.Node != "" {
		m.renewNode(step.Node, step.Pool)
	}
	if step.Last {
		*m.pool(step.Pool.Name) = *step.Pool
		u.Pools = append(u.Pools, step.Pool.Name)
	}
	m.notify(target.Change{Nodes: true})
}

func (m *Member) endUpgrade(u *provision, fault string) {
	u.Ended, u.Fault, m.upgrades.running = true, fault, nil
	for _, n := range m.nodes {
		n.Draining = false
		m.judge(n)
	}
	m.resettle(m.nodes...)
	m.keep.stale()
	u.tell()
}

// unpark lets an upgrade that stood still go on, if no fault holds it any more.
func (m *Member) unpark() {
	if u := m.upgrades.running; u != nil && u.parked {
		m.endStep(u)
	}
}

func (u *provision) tell() {
	close(u.changed)
	u.changed = make(chan struct{})
}

// plan lists the steps of an operation, or says why a provider would refuse it.
func (m *Member) plan(u *provision, pace Pace) error {
	if u.Operation.DisableUnattendedUpgrades {
		u.Notes = append(u.Notes, "unattended upgrades of the nodes are switched off")
	}
	live, _ := upgrade.ParseVersion(m.version)
	control := live
	due := time.Duration(0)
	if u.Operation.ControlPlaneVersion != "" {
		var ok bool
		if control, ok = upgrade.ParseVersion(u.Operation.ControlPlaneVersion); !ok {
			return fmt.Errorf("control plane version %q is no version", u.Operation.ControlPlaneVersion)
		}
	}
	switch move := live.MoveTo(control); move {
	case upgrade.MoveAllowed:
		due += pace.ControlPlane
		u.Steps = append(u.Steps, provisionStep{
			Due: due, Kind: stepControlPlane, Text: fmt.Sprintf("control plane %s to %s", live, control), Version: "v" + control.String(),
		})
	case upgrade.MoveAtTarget:
	default:
		return fmt.Errorf("a control plane at %s cannot be moved to %s: %s", live, control, move)
	}
	for i := range u.Operation.NodePools {
		if err := m.planPool(u, &u.Operation.NodePools[i], control, due, pace); err != nil {
			return err
		}
		due += pace.NodePool
	}
	return nil
}

func (m *Member) planPool(u *provision, move *api.PoolUpgrade, control upgrade.Version, due time.Duration, pace Pace) error {
	pool := m.pool(move.Pool)
	if pool == nil {
		return fmt.Errorf("there is no node pool %q; the member has %s", move.Pool, strings.Join(m.poolNames(), ", "))
	}
	wanted := *pool
	if move.ToVersion != "" {
		v, ok := upgrade.ParseVersion(move.ToVersion)
		if !ok || v.Compare(control) > 0 {
			return fmt.Errorf("node pool %s cannot be moved to %q: its kubelets would be newer than control plane %s", move.Pool, move.ToVersion, control)
		}
		wanted.KubernetesVersion = "v" + v.String()
	}
	if image := m.imageFor(move, pool, pace.Images); image != "" {
		wanted.NodeImageVersion = image
		wanted.ImageFamily, _, _ = api.NodeImageFamily(image)
	}
	wanted.FromSnapshot = pool.FromSnapshot && !move.DropSnapshot
	u.Steps = append(u.Steps, m.poolSteps(&wanted, due, pace.NodePool)...)
	return nil
}

// imageFor is the image that a move brings a pool to, empty when it leaves it.
func (m *Member) imageFor(move *api.PoolUpgrade, pool *api.NodePoolFacts, offered []string) string {
	if !move.Newest {
		return move.To
	}
	for _, image := range offered {
		if upgrade.CompareImages(image, pool.NodeImageVersion) == upgrade.ImageNewer {
			return image
		}
	}
	return ""
}

func (m *Member) poolNames() []string {
	names := make([]string, len(m.pools))
	for i := range m.pools {
		names[i] = m.pools[i].Name
	}
	return names
}

// poolSteps makes the nodes of a pool anew, one after another. The pool is at the new state when the
// last one is.
func (m *Member) poolSteps(wanted *api.NodePoolFacts, due, takes time.Duration) []provisionStep {
	var names []string
	for _, n := range m.nodes {
		if n.Pool == wanted.Name {
			names = append(names, n.Name)
		}
	}
	if len(names) == 0 {
		return []provisionStep{{
			Due: due + takes, Kind: wanted.Name, Text: "node pool " + wanted.Name + ", which has no nodes", Pool: wanted, Last: true,
		}}
	}
	steps := make([]provisionStep, len(names))
	for i, name := range names {
		steps[i] = provisionStep{
			Due: due + takes*time.Duration(i+1)/time.Duration(len(names)), Kind: wanted.Name,
			Text: fmt.Sprintf("node pool %s, node %d of %d", wanted.Name, i+1, len(names)), Pool: wanted, Node: name, Last: i == len(names)-1,
		}
	}
	return steps
}

// emptyNode takes the pods off a node that is made anew.
func (m *Member) emptyNode(name string) {
	if n := m.nodeNamed(name); n != nil {
		n.Draining = true
		m.judge(n)
		m.lose(n.pods)
		m.resettle(n)
	}
}

// renewNode brings a node back as its pool now is.
func (m *Member) renewNode(name string, as *api.NodePoolFacts) {
	if n := m.nodeNamed(name); n != nil {
		n.Kubelet, n.Image, n.Draining = as.KubernetesVersion, as.NodeImageVersion, false
		m.judge(n)
		m.resettle(n)
	}
}
