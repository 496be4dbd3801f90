package agentd

import (
	"context"
	"fmt"
	"time"

	"flotilla/agent/nodes"
	"flotilla/agent/nodes/command"
	"flotilla/agent/nodes/memory"
	"flotilla/agent/target"
	"flotilla/bus"
	"flotilla/configs"
)

// leftAlone is what the hub is told of a member whose nodes are nobody's business.
const leftAlone = "nodes.enabled is false in the configuration of its agent"

// nodes makes what tells the hub the state of the member's nodes and carries out their disruption; nil
// when the configuration turns that off, or the target knows nothing of nodes.
func (a *Agent) nodes(conn *bus.AgentConn) (*nodes.Nodes, error) {
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
	if !n.Enabled {
		a.run(func(ctx context.Context) error { return nodes.Abstain(ctx, o, leftAlone) })
		return nil, nil
	}
	provider, err := a.provider()
	if err != nil {
		return nil, err
	}
	o.Provider = provider
	return nodes.New(o)
}

func (a *Agent) provider() (nodes.Provider, error) {
	n := &a.o.Config.Nodes
	if n.Provider == configs.ProviderExec {
		return command.New(command.Options{
			Member: a.Member(), Launch: n.Exec.Launch, Delete: n.Exec.Delete, Exists: n.Exec.Exists, Environment: n.Exec.Environment,
			Directory: n.Exec.Directory, Timeout: time.Duration(n.Exec.Timeout), Grace: time.Duration(n.Exec.Grace),
		})
	}
	if a.memory == nil {
		return nil, fmt.Errorf("nodes.provider: found %q, expected %s, because the member is not one in memory", n.Provider, configs.ProviderExec)
	}
	return memory.New(a.memory, memory.Options{
		LaunchTime: time.Duration(n.Memory.LaunchTime), ReadyAfter: time.Duration(n.Memory.ReadyAfter), DeleteTime: time.Duration(n.Memory.DeleteTime),
	}), nil
}

// troubleOf is what keeps the hub from acting on the member's nodes.
func troubleOf(room *nodes.Nodes) string {
	if room == nil {
		return ""
	}
	return room.Trouble()
}
