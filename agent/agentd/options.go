// Package agentd is the agent of one member as a package: Options, New, Start, Stop, Run. The main
// program runs one; the hub's --dev mode, the demo and tests run many in one process.
//
// It wires the heartbeat (beat), the worker, the upgrader and what watches and disrupts nodes (nodes) to
// one connection and one target, undoes in reverse what it did, and returns from Stop only when nothing of it runs any more.
package agentd

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"flotilla/agent/pod"
	"flotilla/agent/target"
	"flotilla/agent/target/memory"
	"flotilla/agent/target/memory/faults"
	"flotilla/bus"
	"flotilla/bus/member"
	"flotilla/configs"
	"flotilla/core/api"
)

// Options of an Agent.
type Options struct {
	// Config is what the configuration file and the flags say; configs.DefaultAgent with a Member is
	// enough.
	Config configs.Agent
	// Token, when set, is what the agent enrols with, unless it did already.
	Token *api.Token
	// CredsText are credentials that somebody else made; they win over those that the agent enrolled for.
	CredsText []byte
	// Aside says that many agents share the process of a hub, and what a person at a terminal wants to know of
	// one of them is not to be said.
	Aside bool
	// Pod is the pod of a Kubernetes cluster that the agent runs in, nil when it runs in none or is to take no notice.
	Pod *pod.Pod
	// Target replaces the one that Config describes.
	Target target.Target
	// Supervisor is a program whose main calls command.Supervise first, for the upgrade driver exec; empty
	// where there is none.
	Supervisor string
	// Version of this build, api.Version when empty.
	Version string
	// PollEvery is how often the index is read without a hint, 3 min when 0.
	PollEvery time.Duration
	// Reconnect is that of bus.Options.
	Reconnect bus.Reconnect
	Log       zerolog.Logger
	// Now is the clock that all of the agent goes by, the machine's when nil; it must go as fast.
	Now func() time.Time
}

func (o *Options) bus(wallet *member.Wallet) bus.Options {
	return bus.Options{
		Fleet: o.Config.Fleet, URL: o.Config.Bus.URL, Creds: o.Config.Bus.Creds, Context: o.Config.Bus.Context,
		CA:        o.Config.Bus.TLS.CA,
		CredsText: o.CredsText, Wallet: wallet, Version: cmp.Or(o.Version, api.Version), Log: o.Log,
		Reconnect: o.Reconnect, Now: o.Now,
	}
}

// defaultNodes is what a member in memory has that was given no nodes.
var defaultNodes = []configs.Nodes{{Name: "node", Count: 3, InstanceType: "standard-4", CPU: "4", Memory: "16Gi", PricePerHour: "0.20"}}

// inMemory makes the member that the configuration describes.
func inMemory(c *configs.Agent, now func() time.Time) (*memory.Member, error) {
	m := c.Target.Memory
	given := m.Nodes
	if len(given) == 0 {
		given = defaultNodes
	}
	var nodes []target.Node
	var pools []api.NodePoolFacts
	for i := range given {
		made, err := nodesOf(&given[i])
		if err != nil {
			return nil, fmt.Errorf("target.memory.nodes[%d]: %w", i, err)
		}
		nodes = append(nodes, made...)
		pools = withPool(pools, &given[i])
	}
	faults, err := faults.Parse(m.Faults)
	if err != nil {
		return nil, fmt.Errorf("target.memory.faults: %w", err)
	}
	o := memory.Options{
		Name: c.Member, KubernetesVersion: m.KubernetesVersion, Nodes: nodes, Pools: pools, ReadyAfter: time.Duration(m.ReadyAfter),
		MostGrace: time.Duration(m.MostGrace), ScheduleAfter: time.Duration(m.ScheduleAfter), Clock: memory.Running(now),
	}
	member := memory.New(o)
	if m.Keep {
		if member, err = memory.Open(o, filepath.Join(c.DataDir, "member")); err != nil {
			return nil, err
		}
	}
	member.SetFaults(faults)
	return member, nil
}

func nodesOf(n *configs.Nodes) ([]target.Node, error) {
	var out []target.Node
	for _, name := range n.Names() {
		node, err := target.NewNode(name, n.CPU, n.Memory)
		if err != nil {
			return nil, err
		}
		node.Zone, node.InstanceType, node.Price, node.Pool = n.Zone, n.InstanceType, n.Price(), n.PoolName()
		node.NodePool, node.CapacityType, node.Labels, node.Annotations = n.NodePool, n.CapacityType, n.Labels, n.Annotations
		for _, t := range n.Taints {
			node.Taints = append(node.Taints, t.Taint())
		}
		out = append(out, node)
	}
	return out, nil
}

// withPool adds the pool of an entry, unless an entry before described it.
func withPool(pools []api.NodePoolFacts, n *configs.Nodes) []api.NodePoolFacts {
	if slices.ContainsFunc(pools, func(p api.NodePoolFacts) bool { return p.Name == n.PoolName() }) {
		return pools
	}
	p := n.Pool
	return append(pools, api.NodePoolFacts{
		Name: n.PoolName(), Mode: p.Mode, OSType: p.OSType, OSSKU: p.OSSKU, NodeImageVersion: p.Image,
		KubernetesVersion: p.KubernetesVersion, FromSnapshot: p.FromSnapshot,
	})
}
