package crowd

import (
	"context"
	"maps"
	"slices"
	"time"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/server"
	"flotilla/bus/streams"
	"flotilla/configs"
	"flotilla/configs/secrets"
	"flotilla/core/api"
	"flotilla/hub/dev"
	"flotilla/hub/hubd"
)

// serving is how the server of the fleet runs.
func (f *Fleet) serving() server.Options {
	return server.Options{Dir: f.folder, Port: -1, MaxStore: 256 << 30, Log: f.log}
}

// open starts the hub, and connects as people and as players.
func (f *Fleet) open(ctx context.Context) (err error) {
	serving := f.serving()
	at := hubd.Page{}
	if f.options.Page {
		at.Address = "127.0.0.1:0"
	}
	f.house, err = dev.Start(ctx, dev.Options{Log: f.log, Hub: hubd.Options{
		Page: at, Server: &serving, Lead: f.leads(), Secrets: secrets.Source{File: bustest.SecretsFile(f.t)},
		Policy: hubd.Policy{MemberTimeout: f.pace.timeout, Grace: f.pace.grace, DeleteTimeout: time.Hour, Disruption: brisk()},
		Log:    f.log, Now: f.now,
	}})
	if err != nil {
		return err
	}
	f.Hub = f.house.Hub
	return f.connect(ctx, f.Hub.Server())
}

// connect connects people and players to a server.
func (f *Fleet) connect(ctx context.Context, s *server.Server) error {
	for role, name := range map[api.Role]string{api.RoleAdmin: "anna", api.RoleOperator: "olaf", api.RoleViewer: "vera"} {
		creds, _, err := s.PersonCreds(name, role, 0)
		if err != nil {
			return err
		}
		if f.people[role], err = bus.ConnectClient(ctx, bus.Options{Server: s, CredsText: creds, Name: name, Log: f.log, Now: f.now}); err != nil {
			return err
		}
	}
	for range connections {
		c, err := bus.ConnectHub(ctx, bus.Options{Server: s, Name: "crowd", Log: f.log, Now: f.now})
		if err != nil {
			return err
		}
		f.conns = append(f.conns, c)
	}
	return nil
}

// disconnect ends all connections.
func (f *Fleet) disconnect() {
	for _, c := range append(slices.Collect(maps.Values(f.people)), f.conns...) {
		c.Close()
	}
	clear(f.people)
	f.conns = nil
}

// brisk has the hub look after nodes without much delay.
func brisk() configs.Disruption {
	d := configs.DefaultHub().Disruption
	d.Interval, d.ValidationWait = configs.Duration(300*time.Millisecond), configs.Duration(time.Second)
	return d
}

// roomFor makes streams large enough for the shares of all members.
func roomFor(members int) streams.LayoutOptions {
	share := bus.Share{Results: 1 << 20, Events: 2 << 20}
	return streams.LayoutOptions{
		Share: share, ResultBytes: max(2<<30, 2*share.Results*int64(members)), EventBytes: max(8<<30, 2*share.Events*int64(members)),
	}
}

// agent is the configuration of the real agent.
func (m *member) agent() configs.Agent {
	c := configs.DefaultAgent()
	c.Member, c.HeartbeatInterval = m.name, configs.Duration(time.Second)
	c.Target.Memory.KubernetesVersion, c.Target.Memory.ReadyAfter = m.version, 0
	c.Target.Memory.Nodes = []configs.Nodes{{
		Name: "lab", Count: 6, InstanceType: "d4", Zone: "lab-1", CPU: "4", Memory: "16Gi", PricePerHour: "0.2", NodePool: "workers",
		CapacityType: "on-demand", Pool: configs.NodePool{Name: "workers", Mode: "System"},
	}}
	c.Upgrade.Memory.ControlPlane, c.Upgrade.Memory.NodePool = configs.Duration(50*time.Millisecond), configs.Duration(50*time.Millisecond)
	c.Nodes.Interval, c.Nodes.LeastDrain, c.Nodes.Memory.DeleteTime = configs.Duration(200*time.Millisecond), configs.Duration(time.Second), configs.Duration(time.Hour)
	return c
}
