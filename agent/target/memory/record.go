package memory

import "flotilla/core/api"

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

// memberRecord is member.json; each object with its pods is in a file of its own.
type memberRecord struct {
	Layout   int                 `json:"layout"`
	Name     string              `json:"name"`
	Version  string              `json:"version"`
	Began    int64               `json:"began"`
	Counts   counts              `json:"counts"`
	Pools    []api.NodePoolFacts `json:"pools"`
	Nodes    []*node             `json:"nodes"`
	Machines []*machine          `json:"machines"`
	Launches launches            `json:"launches"`
	Upgrades []*operation        `json:"upgrades"`
}

func (m *Member) recordMember() memberRecord {
	r := memberRecord{
		Layout: recordLayout, Name: m.name, Version: m.version, Began: m.began, Counts: m.counts.ahead(m.keep.ahead), Pools: m.pools,
		Launches: m.launches, Nodes: m.nodes, Upgrades: m.upgrades.begun,
	}
	for _, mach := range m.machines {
		r.Machines = append(r.Machines, mach)
	}
	return r
}
