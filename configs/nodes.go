package configs

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"flotilla/core/api"
	"flotilla/core/validate"
)

// Providers that make and take away the machines of nodes.
const (
	ProviderMemory     = "memory"
	ProviderExec       = "exec"
	ProviderKarpenter  = "karpenter"
	ProviderClusterAPI = "clusterapi"
)

// MemberNodes says how the hub learns the state of the member's nodes, and how their disruptions are
// carried out.
type MemberNodes struct {
	// Enabled is false when the hub is to decide nothing about the member's nodes, which it then does not
	// see.
	Enabled bool `json:"enabled,omitempty"`
	// Interval is the least time between two events of a node.
	Interval Duration `json:"interval,omitempty"`
	// Resync is how often everything is told although it is the same.
	Resync Duration `json:"resync,omitempty"`
	// LeastDrain is the least time between the taint of a node and the end of its machine.
	LeastDrain Duration `json:"leastDrain,omitempty"`
	// Provider is memory, for a member in memory, exec, karpenter, for a cluster that runs Karpenter, or clusterapi, for
	// one that Cluster API looks after; empty is memory for a member in memory, and leaves the nodes of another alone.
	Provider string       `json:"provider,omitempty"`
	Memory   NodesMemory  `json:"memory,omitzero"`
	Exec     NodesCommand `json:"exec,omitzero"`
}

// NodesMemory is how machines of a member in memory come and go.
type NodesMemory struct {
	// LaunchTime is how long a machine takes to register its node, ReadyAfter how long the node then takes
	// to become ready, DeleteTime how long a machine takes to be gone.
	LaunchTime Duration `json:"launchTime,omitempty"`
	ReadyAfter Duration `json:"readyAfter,omitempty"`
	DeleteTime Duration `json:"deleteTime,omitempty"`
}

// NodesCommand are commands that make and take away machines. They are not read by a shell.
type NodesCommand struct {
	// Launch makes the machine of a new node, Delete takes one away, and Exists says whether there is one;
	// without Exists, Delete is asked until the machine is gone.
	Launch []string `json:"launch,omitempty"`
	Delete []string `json:"delete,omitempty"`
	Exists []string `json:"exists,omitempty"`
	// Environment is added to that of the agent.
	Environment map[string]string `json:"environment,omitempty"`
	// Directory they run in, the agent's when empty.
	Directory string `json:"directory,omitempty"`
	// Timeout ends a command, and all it started, when it takes longer.
	Timeout Duration `json:"timeout,omitempty"`
	// Grace is how long it may take to end by itself when it is told to.
	Grace Duration `json:"grace,omitempty"`
}

// DefaultMemberNodes is what an agent does that was told nothing about nodes.
func DefaultMemberNodes() MemberNodes {
	return MemberNodes{
		Enabled: true, Interval: Duration(5 * time.Second), Resync: Duration(time.Hour), LeastDrain: Duration(5 * time.Second),
		Memory: NodesMemory{LaunchTime: Duration(3 * time.Second), ReadyAfter: Duration(2 * time.Second), DeleteTime: Duration(2 * time.Second)},
		Exec:   NodesCommand{Timeout: Duration(15 * time.Minute), Grace: Duration(30 * time.Second)},
	}
}

func (c *checks) memberNodes(n *MemberNodes) {
	c.positive("nodes.interval", n.Interval, Duration(10*time.Millisecond), Duration(10*time.Minute))
	c.positive("nodes.resync", n.Resync, Duration(time.Second), Duration(time.Hour))
	c.positive("nodes.leastDrain", n.LeastDrain, Duration(time.Millisecond), Duration(time.Hour))
	c.optional("nodes.provider", n.Provider, ProviderMemory, ProviderExec, ProviderKarpenter, ProviderClusterAPI)
	c.positive("nodes.memory.launchTime", n.Memory.LaunchTime, 0, Duration(time.Hour))
	c.positive("nodes.memory.readyAfter", n.Memory.ReadyAfter, 0, Duration(time.Hour))
	c.positive("nodes.memory.deleteTime", n.Memory.DeleteTime, 0, Duration(time.Hour))
	why := ""
	if n.Enabled && n.Provider == ProviderExec {
		why = "nodes.provider is exec"
	}
	c.command("nodes.exec.launch", n.Exec.Launch, why)
	c.command("nodes.exec.delete", n.Exec.Delete, why)
	c.command("nodes.exec.exists", n.Exec.Exists, "")
	c.environment("nodes.exec.environment", n.Exec.Environment)
	c.positive("nodes.exec.timeout", n.Exec.Timeout, Duration(time.Second), Duration(24*time.Hour))
	c.positive("nodes.exec.grace", n.Exec.Grace, 0, Duration(time.Hour))
}

// environment checks variables that are given to a command.
func (c *checks) environment(path string, variables map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		at := path + "[" + strconv.Quote(name) + "]"
		c.unless(variablePattern.MatchString(name), at, strconv.Quote(name), "the name of a variable: letters, digits and _")
		c.unless(!strings.HasPrefix(name, "FLOTILLA_"), at, strconv.Quote(name), "a name that does not begin with FLOTILLA_")
	}
}

// managed checks what makes an entry of nodes those of a NodePool.
func (c *checks) managed(at string, n *Nodes) {
	for _, f := range validate.Labels("nodePool", map[string]string{api.LabelNodePool: n.NodePool}) {
		c.add(at+".nodePool", f.Found, f.Expected)
	}
	c.optional(at+".capacityType", n.CapacityType, "on-demand", "spot", "reserved")
	for _, f := range validate.Labels("labels", n.Labels) {
		c.add(at+"."+f.Path, f.Found, f.Expected)
	}
	for i, t := range n.Taints {
		c.unless(t.Key != "", fmt.Sprintf("%s.taints[%d].key", at, i), "nothing", "the key of a taint")
		c.choice(fmt.Sprintf("%s.taints[%d].effect", at, i), t.Effect, []string{"NoSchedule", "PreferNoSchedule", "NoExecute"})
	}
}
