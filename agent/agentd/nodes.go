package agentd

import (
	"context"
	"fmt"
	"time"

	"flotilla/agent/nodes"
	"flotilla/agent/nodes/command"
	"flotilla/agent/nodes/karpenter"
	"flotilla/agent/nodes/memory"
	"flotilla/agent/target"
	"flotilla/agent/target/kube"
	"flotilla/bus/member"
	"flotilla/configs"
)

// Why the hub is told of no nodes of a member.
const (
	leftAlone   = "nodes.enabled is false in the configuration of its agent"
	nobodyMakes = "nodes.provider is not set in the configuration of its agent"
)

// providers make what makes and takes away machines, by nodes.provider.
var providers = map[string]func(*Agent) (nodes.Provider, error){
	configs.ProviderMemory:     machinesInMemory,
	configs.ProviderExec:       machinesByCommand,
	configs.ProviderKarpenter:  machinesByKarpenter,
	configs.ProviderClusterAPI: machinesByClusterAPI,
}

// nodes makes what tells the hub the state of the member's nodes and carries out their disruption; nil
// when the configuration turns that off, or the target knows nothing of nodes.
func (a *Agent) nodes(conn *member.Conn) (room *nodes.Nodes, err error) {
	n := &a.o.Config.Nodes
	member, able := a.target.(target.Nodes)
	if !able {
		return nil, nil
	}
	o := nodes.Options{
		Member: a.Member(), Hub: conn, Target: member, Data: a.o.Config.DataDir,
		Interval: time.Duration(n.Interval), Resync: time.Duration(n.Resync), LeastDrain: time.Duration(n.LeastDrain), PollEvery: a.o.PollEvery,
		Log: a.o.Log,
	}
	kind := n.Provider
	if kind == "" && a.memory != nil {
		kind = configs.ProviderMemory
	}
	if why := a.abstains(kind); why != "" {
		if made, err := a.provider(kind); err == nil {
			o.Provider = made
		}
		a.run(func(ctx context.Context) error { return nodes.Abstain(ctx, o, why) })
		return nil, nil
	}
	if o.Provider, err = a.provider(kind); err != nil {
		return nil, err
	}
	return nodes.New(o)
}

// provider makes the one of a kind, nil for none.
func (a *Agent) provider(kind string) (nodes.Provider, error) {
	if kind == "" {
		return nil, nil
	}
	made, err := providers[kind](a)
	if err != nil {
		return nil, fmt.Errorf("nodes.provider: %w", err)
	}
	return made, nil
}

// abstains says why the nodes of the member are left alone, empty when they are not.
func (a *Agent) abstains(provider string) string {
	switch {
	case !a.o.Config.Nodes.Enabled:
		return leftAlone
	case provider == "":
		return nobodyMakes
	}
	return ""
}

func machinesInMemory(a *Agent) (nodes.Provider, error) {
	if a.memory == nil {
		return nil, errNotInMemory()
	}
	m := &a.o.Config.Nodes.Memory
	return memory.New(a.memory, memory.Options{
		LaunchTime: time.Duration(m.LaunchTime), ReadyAfter: time.Duration(m.ReadyAfter), DeleteTime: time.Duration(m.DeleteTime),
	}), nil
}

func machinesByCommand(a *Agent) (nodes.Provider, error) {
	c := &a.o.Config.Nodes.Exec
	return command.New(command.Options{
		Member: a.Member(), Launch: c.Launch, Delete: c.Delete, Exists: c.Exists, Environment: c.Environment,
		Directory: c.Directory, Timeout: time.Duration(c.Timeout), Grace: time.Duration(c.Grace),
	})
}

func machinesByKarpenter(a *Agent) (nodes.Provider, error) {
	cluster, is := a.target.(*kube.Target)
	if !is {
		return nil, errNoCluster(configs.ProviderKarpenter)
	}
	return karpenter.New(karpenter.Options{Objects: cluster.Objects()}), nil
}

// troubleOf is what keeps the hub from acting on the member's nodes.
func troubleOf(room *nodes.Nodes) string {
	if room == nil {
		return ""
	}
	return room.Trouble()
}
