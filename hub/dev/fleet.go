// Package dev is a whole fleet in one process: a hub with an embedded NATS server and members in memory,
// each with an agent of its own that connects over TCP with its own credentials.
//
// The hub's --dev mode, the demo and tests of the house start it. Beside mains and tests it is the only
// package where hub and agent meet.
package dev

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/rs/zerolog"

	"flotilla/agent/agentd"
	"flotilla/bus"
	"flotilla/bus/member"
	"flotilla/configs"
	"flotilla/core/api"
	"flotilla/hub/hubd"
	"flotilla/subjects"
)

// Options of a Fleet.
type Options struct {
	// Hub needs an embedded server. Its data directory holds that of the members too, and they go by its clock.
	Hub hubd.Options
	// Members are the agents to start. Their fleet, connection and data directory are set here.
	Members []configs.Agent
	// Agents log here.
	Log zerolog.Logger
}

// Fleet is a running hub with its members.
type Fleet struct {
	Hub *hubd.Hub
	// Client is connected as the first admin, as the command line is, or as the hub once that one was revoked.
	Client *bus.Conn

	options Options
	agents  map[string]*agentd.Agent
}

// ErrNoServer means that Options.Hub has no embedded server.
var ErrNoServer = errors.New("--dev brings its own NATS server: leave out --url, --creds and --context")

// Start starts the hub, waits until it leads, and starts the agents. What was started is stopped when
// it errs.
func Start(ctx context.Context, o Options) (_ *Fleet, err error) {
	if o.Hub.Server == nil {
		return nil, ErrNoServer
	}
	o.Hub.Fleet = cmp.Or(o.Hub.Fleet, subjects.DefaultFleet)
	hub, err := hubd.New(o.Hub)
	if err != nil {
		return nil, err
	}
	if err := hub.Start(ctx); err != nil {
		return nil, err
	}
	f := &Fleet{Hub: hub, options: o, agents: map[string]*agentd.Agent{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Stop())
		}
	}()
	if err := hub.WaitLeading(ctx); err != nil {
		return nil, err
	}
	if f.Client, err = bus.ConnectClient(ctx, f.clientOptions()); err != nil {
		return nil, err
	}
	for i := range o.Members {
		if err := f.StartAgent(ctx, o.Members[i]); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func (f *Fleet) clientOptions() bus.Options {
	return bus.Options{
		Fleet: f.options.Hub.Fleet, URL: f.Hub.Server().URL(), Creds: cmp.Or(f.Hub.Server().OperatorCreds(), f.Hub.Server().HubCreds()), CA: f.Hub.Server().CAFile(),
		Name: "dev", Log: f.options.Log, Now: f.options.Hub.Now,
	}
}

// StartAgent starts one more agent, or one that was stopped: it finds its data directory again.
func (f *Fleet) StartAgent(ctx context.Context, config configs.Agent) error {
	if _, there := f.agents[config.Member]; there {
		return fmt.Errorf("the agent of %s runs already", config.Member)
	}
	config.Fleet = f.options.Hub.Fleet
	config.Bus = configs.Bus{URL: f.Hub.Server().URL(), TLS: configs.BusTLS{CA: f.Hub.Server().CAFile()}}
	config.DataDir = filepath.Join(f.options.Hub.Server.Dir, "members", config.Member)
	token, err := f.token(ctx, &config)
	if err != nil {
		return fmt.Errorf("starting member %s: %w", config.Member, err)
	}
	agent, err := agentd.New(agentd.Options{
		Config: config, Token: token, Aside: true, Log: f.options.Log.With().Str("member", config.Member).Logger(),
		Now: f.options.Hub.Now,
	})
	if err == nil {
		err = agent.Start(ctx)
	}
	if err != nil {
		return fmt.Errorf("starting member %s: %w", config.Member, err)
	}
	f.agents[config.Member] = agent
	return nil
}

// token is what an agent enrols with that did not yet, nil for others.
func (f *Fleet) token(ctx context.Context, config *configs.Agent) (*api.Token, error) {
	if enrolled, err := member.Enrolled(member.Folder(config.DataDir)); enrolled != "" || err != nil {
		return nil, err
	}
	var answer api.EnrolResponse
	err := bus.Request(ctx, f.Client, api.VerbEnrol, api.EnrolRequest{Name: config.Member}, &answer, bus.RequestOptions{})
	return &answer.Token, err
}

// StopAgent stops one agent; its data directory stays, and its member in memory if that is kept there.
func (f *Fleet) StopAgent(member string) error {
	agent, there := f.agents[member]
	if !there {
		return fmt.Errorf("no agent of %s runs", member)
	}
	delete(f.agents, member)
	return agent.Stop()
}

// Agent is the running agent of a member, nil when there is none.
func (f *Fleet) Agent(member string) *agentd.Agent { return f.agents[member] }

// Members are the names of the members with a running agent, sorted.
func (f *Fleet) Members() []string {
	var names []string
	for name := range f.agents {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Stop ends the agents, then the hub and its server, and returns when nothing runs any more.
func (f *Fleet) Stop() error {
	var faults []error
	for _, member := range f.Members() {
		if err := f.StopAgent(member); err != nil {
			faults = append(faults, fmt.Errorf("stopping member %s: %w", member, err))
		}
	}
	if f.Client != nil {
		f.Client.Close()
	}
	f.Hub.Stop()
	return errors.Join(faults...)
}
