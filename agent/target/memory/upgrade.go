package memory

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"flotilla/agent/target"
	"flotilla/agent/target/memory/faults"
	"flotilla/agent/target/memory/provision"
	"flotilla/core/api"
)

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
	begun   []*operation
	running *operation
}

// operation is one upgrade by the provider. As JSON it is what is kept of it.
type operation struct {
	Operation api.UpgradeOperation `json:"operation"`
	Began     time.Time            `json:"began"`
	Steps     []provision.Step     `json:"steps"`
	At        int                  `json:"at"` // in Steps
	Notes     []string             `json:"notes,omitempty"`
	Pools     []string             `json:"pools,omitempty"`
	Ended     bool                 `json:"ended,omitempty"`
	Fault     string               `json:"fault,omitempty"`
	parked    bool                 // it stands still on request
	changed   chan struct{}
}

// BeginUpgrade makes the provider carry out an operation; UpgradeState tells how it does. It refuses an
// id it had before, and while another one runs.
func (m *Member) BeginUpgrade(op api.UpgradeOperation, pace provision.Pace) error {
	m.mu.Lock()
	defer m.unlock()
	if m.operation(op.ID) != nil {
		return fmt.Errorf("operation %s was carried out already", op.ID)
	}
	if other := m.upgrades.running; other != nil {
		return fmt.Errorf("operation %s is in progress on member %s", other.Operation.ID, m.name)
	}
	if m.faults.Busy != "" {
		return fmt.Errorf("operation %s of somebody else is in progress on member %s", m.faults.Busy, m.name)
	}
	u := &operation{Operation: op, Began: m.clock.Now(), changed: make(chan struct{})}
	if op.DisableUnattendedUpgrades {
		u.Notes = append(u.Notes, "unattended upgrades of the nodes are switched off")
	}
	planned := provision.Member{Version: m.version, Pools: m.pools, Nodes: m.nodesOf}
	var err error
	if u.Steps, err = planned.Plan(&op, pace); err != nil {
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
	u := m.operation(id)
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

func (m *Member) operation(id string) *operation {
	at := slices.IndexFunc(m.upgrades.begun, func(u *operation) bool { return u.Operation.ID == id })
	if at < 0 {
		return nil
	}
	return m.upgrades.begun[at]
}

// beginStep begins the next step, or ends the upgrade after the last one.
func (m *Member) beginStep(u *operation) {
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
func (m *Member) awaitStep(u *operation) {
	m.keep.stale()
	m.after(u.Began.Add(u.Steps[u.At].Due).Sub(m.clock.Now()), func() { m.endStep(u) })
}

// endStep finishes a step, unless a fault says otherwise.
func (m *Member) endStep(u *operation) {
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
func (m *Member) carryOut(u *operation, step *provision.Step) {
	if step.Kind == provision.ControlPlane {
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

func (m *Member) endUpgrade(u *operation, fault string) {
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

func (u *operation) tell() {
	close(u.changed)
	u.changed = make(chan struct{})
}

// nodesOf are the names of the nodes of a pool.
func (m *Member) nodesOf(pool string) []string {
	var names []string
	for _, n := range m.nodes {
		if n.Pool == pool {
			names = append(names, n.Name)
		}
	}
	return names
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
