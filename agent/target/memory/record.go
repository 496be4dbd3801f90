package memory

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"flotilla/agent/target"
	"flotilla/core/api"
)

// recordLayout is the form of a kept member; other forms are refused.
const recordLayout = 1

// over reports counts that have used up what was reserved.
func (c counts) over(reserved counts) bool {
	return c.Writes > reserved.Writes || c.Born > reserved.Born || c.Spawned > reserved.Spawned || c.Joined > reserved.Joined
}

// ahead are counts that many further on.
func (c counts) ahead(by int64) counts {
	return counts{Writes: c.Writes + by, Born: c.Born + by, Spawned: c.Spawned + by, Joined: c.Joined + by}
}

// memberRecord is member.json.
type memberRecord struct {
	Layout   int                 `json:"layout"`
	Name     string              `json:"name"`
	Version  string              `json:"version"`
	Began    int64               `json:"began"`
	Counts   counts              `json:"counts"`
	Pools    []api.NodePoolFacts `json:"pools"`
	Nodes    []nodeRecord        `json:"nodes"`
	Machines []machineRecord     `json:"machines"`
	Launches launchesRecord      `json:"launches"`
	Upgrades []provisionRecord   `json:"upgrades"`
}

type nodeRecord struct {
	Given         target.Node       `json:"given"`
	Number        int64             `json:"number"`
	UID           types.UID         `json:"uid"`
	Created       time.Time         `json:"created"`
	Labels        map[string]string `json:"labels"`
	Annotations   map[string]string `json:"annotations,omitempty"`
	Taints        []corev1.Taint    `json:"taints,omitempty"`
	Finalizers    []string          `json:"finalizers,omitempty"`
	Unschedulable bool              `json:"unschedulable,omitempty"`
	Deleting      time.Time         `json:"deleting,omitzero"`
	Out           bool              `json:"out,omitempty"`
	OutSince      int64             `json:"outSince,omitempty"`
	Draining      bool              `json:"draining,omitempty"`
	Launched      bool              `json:"launched,omitempty"`
	Starting      bool              `json:"starting,omitempty"`
	Lost          bool              `json:"lost,omitempty"`
	Up            bool              `json:"up"`
	UpSince       time.Time         `json:"upSince"`
}

type machineRecord struct {
	Launch Launch    `json:"launch"`
	All    int       `json:"all,omitempty"`
	OfPool int       `json:"ofPool,omitempty"`
	OfType int       `json:"ofType,omitempty"`
	Shows  time.Time `json:"shows,omitzero"`
	Starts time.Time `json:"starts,omitzero"`
	Ends   time.Time `json:"ends,omitzero"`
}

type launchesRecord struct {
	All   int            `json:"all"`
	Pools map[string]int `json:"pools,omitempty"`
	Types map[string]int `json:"types,omitempty"`
}

type provisionRecord struct {
	Operation api.UpgradeOperation `json:"operation"`
	Began     time.Time            `json:"began"`
	Steps     []provisionStep      `json:"steps"`
	At        int                  `json:"at"`
	Notes     []string             `json:"notes,omitempty"`
	Pools     []string             `json:"pools,omitempty"`
	Ended     bool                 `json:"ended,omitempty"`
	Fault     string               `json:"fault,omitempty"`
}

// objectRecord is the file of one object.
type objectRecord struct {
	Object  *unstructured.Unstructured `json:"object"`
	Number  int64                      `json:"number"`
	Changed time.Time                  `json:"changed"`
	Pods    []podRecord                `json:"pods,omitempty"`
}

type podRecord struct {
	Name    string        `json:"name"`
	UID     types.UID     `json:"uid"`
	Ordinal int           `json:"ordinal,omitempty"`
	For     string        `json:"for,omitempty"` // the node it is for
	Turn    turnRecord    `json:"turn"`
	Node    string        `json:"node,omitempty"` // the node it is on
	Created time.Time     `json:"created"`
	Bound   time.Time     `json:"bound,omitzero"`
	Ready   time.Time     `json:"ready,omitzero"`
	Ending  time.Time     `json:"ending,omitzero"`
	Grace   time.Duration `json:"grace,omitempty"`
}

type turnRecord struct {
	Created int64     `json:"created"`
	UID     types.UID `json:"uid"`
}

func (m *Member) recordMember() memberRecord {
	r := memberRecord{
		Layout: recordLayout, Name: m.name, Version: m.version, Began: m.began, Counts: m.counts.ahead(m.keep.ahead), Pools: m.pools,
		Launches: launchesRecord{All: m.launches.all, Pools: m.launches.pools, Types: m.launches.types},
	}
	for _, n := range m.nodes {
		r.Nodes = append(r.Nodes, recordNode(n))
	}
	for _, mach := range m.machines {
		r.Machines = append(r.Machines, machineRecord{
			Launch: mach.Launch, All: mach.number.all, OfPool: mach.number.pool, OfType: mach.number.instanceType,
			Shows: mach.shows, Starts: mach.starts, Ends: mach.ends,
		})
	}
	for _, u := range m.upgrades.begun {
		r.Upgrades = append(r.Upgrades, provisionRecord{
			Operation: u.op, Began: u.began, Steps: u.steps, At: u.at, Notes: u.notes, Pools: u.pools, Ended: u.ended, Fault: u.fault,
		})
	}
	return r
}

func recordNode(n *node) nodeRecord {
	return nodeRecord{
		Given: n.Node, Number: n.number, UID: n.uid, Created: n.created, Labels: n.labels, Annotations: n.notes, Taints: n.own,
		Finalizers: n.finalizers, Unschedulable: n.unschedulable, Deleting: n.deleting, Out: n.out, OutSince: n.outSince,
		Draining: n.draining, Launched: n.launched, Starting: n.starting, Lost: n.lost, Up: n.up, UpSince: n.upSince,
	}
}

func recordObject(s *stored) objectRecord {
	r := objectRecord{Object: s.object, Number: s.number, Changed: s.changed}
	for _, p := range s.pods {
		one := podRecord{
			Name: p.name, UID: p.uid, Ordinal: p.slot.ordinal, For: p.slot.node, Turn: turnRecord{p.turn.created, p.turn.uid},
			Created: p.created, Bound: p.bound, Ready: p.ready, Ending: p.ending, Grace: p.grace,
		}
		if p.on != nil {
			one.Node = p.on.Name
		}
		r.Pods = append(r.Pods, one)
	}
	return r
}
