package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/rs/zerolog"

	"flotilla/bus"
	"flotilla/configs"
	"flotilla/core/api"
	"flotilla/tests/elsewhen"
)

// fleet is a hub and agents in processes of their own, and whoever uses and watches them in this one.
type fleet struct {
	folder  string // of the hub, and of logs
	homes   string // of agents
	members int
	hub     *child
	at      hubHello
	agents  []*child
	// client is an operator, looker looks at streams as a hub.
	client, looker *bus.Conn
	tap            *tap

	placements []*placement
	profiles   string // how the files of profiles that are kept begin, with their folder; none are when empty
}

// startFleet starts a hub and the agents of a scenario, and returns when every member is ready. In memory is the folder
// for agents that are to write to no disk.
func startFleet(ctx context.Context, s *Scenario, folder, homes string) (_ *fleet, err error) {
	f := &fleet{folder: folder, homes: homes, members: s.Members}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.stop())
		}
	}()
	if err := f.startHub(-1); err != nil {
		return nil, err
	}
	if err := f.connect(ctx); err != nil {
		return nil, err
	}
	for i := range max(1, s.Processes) {
		agents, err := launch(folder, fmt.Sprintf("agents-%d", i), role{Agents: &agentsRole{URL: f.at.URL, Dir: homes, ReadyAfter: s.ReadyAfter, Reconnect: s.Reconnect}}, &struct{}{})
		if err != nil {
			return nil, err
		}
		f.agents = append(f.agents, agents)
	}
	if err := f.admit(ctx); err != nil {
		return nil, err
	}
	if err := f.startAgents(ctx); err != nil {
		return nil, err
	}
	return f, f.await(ctx, func() error { return f.ready(ctx) })
}

func (f *fleet) startHub(port int) (err error) {
	f.hub, err = launch(f.folder, "hub", role{Hub: &hubRole{Dir: filepath.Join(f.folder, "hub"), Port: port}}, &f.at)
	return err
}

// connect waits until the hub leads and answers.
func (f *fleet) connect(ctx context.Context) (err error) {
	o := bus.Options{URL: f.at.URL, Creds: f.at.Operator, Name: "scale", Log: zerolog.Nop(), Now: elsewhen.Now}
	if f.client, err = bus.ConnectClient(ctx, o); err != nil {
		return err
	}
	if err := f.request(ctx, api.VerbVersion, nil, nil); err != nil {
		return err
	}
	o.Creds = f.at.Hub
	if f.looker, err = bus.ConnectHub(ctx, o); err != nil {
		return err
	}
	f.tap, err = openTap(f.at.URL, f.at.Hub, f.looker.Fleet)
	return err
}

func (f *fleet) request(ctx context.Context, verb string, question, answer any) error {
	return bus.Request(ctx, f.client, verb, question, answer, bus.RequestOptions{Total: 10 * time.Minute, Try: time.Minute})
}

func (f *fleet) apply(ctx context.Context, id string, documents []json.RawMessage) error {
	return f.request(ctx, api.VerbApply, api.ApplyRequest{Request: id, Documents: documents}, nil)
}

// ready errs while not every member is.
func (f *fleet) ready(ctx context.Context) error {
	var status api.FleetStatus
	if err := f.request(ctx, api.VerbStatus, nil, &status); err != nil {
		return err
	}
	if n := status.Members[string(api.MemberReady)]; n != f.members {
		return fmt.Errorf("%d of %d members are ready", n, f.members)
	}
	return nil
}

// await asks again and again until there is no error, or ctx ends.
func (f *fleet) await(ctx context.Context, ask func() error) error {
	for {
		err := ask()
		if err == nil {
			return nil
		}
		if !pause(ctx, 200*time.Millisecond) {
			return fmt.Errorf("%w; last: %w", context.Cause(ctx), err)
		}
	}
}

// pause waits so long; false when ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// restart kills the hub with its server, and starts it again on the same data and port.
func (f *fleet) restart() error {
	at, err := url.Parse(f.at.URL)
	if err != nil {
		return err
	}
	port, err := strconv.Atoi(at.Port())
	if err != nil {
		return err
	}
	f.hub.kill()
	return f.startHub(port)
}

// churn has properties change, every member's once in so long; 0 ends that.
func (f *fleet) churn(ctx context.Context, every configs.Duration) error {
	for _, agents := range f.agents {
		if err := agents.ask(ctx, "/churn", every, &struct{}{}); err != nil {
			return err
		}
	}
	return nil
}

// stop ends all processes and removes the folders of agents.
func (f *fleet) stop() error {
	var faults []error
	for _, conn := range []*bus.Conn{f.client, f.looker} {
		if conn != nil {
			conn.Close()
		}
	}
	if f.tap != nil {
		f.tap.close()
	}
	for _, agents := range f.agents {
		faults = append(faults, agents.end())
	}
	if f.hub != nil {
		faults = append(faults, f.hub.end())
	}
	return errors.Join(append(faults, os.RemoveAll(f.homes))...)
}
