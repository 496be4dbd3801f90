package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"flotilla/agent/agentd"
	"flotilla/agent/target"
	"flotilla/bus"
	"flotilla/configs"
	"flotilla/core/validate"
	"flotilla/tests/elsewhen"
)

// startersAtOnce is how many agents start at the same time.
const startersAtOnce = 16

// agentsRole is a process of whole agents, each beside a member in memory, with a folder and a connection of its own.
type agentsRole struct {
	URL string `json:"url"`
	// Dir holds the folders of the agents.
	Dir string `json:"dir"`
	// ReadyAfter is how long what was applied takes to become ready.
	ReadyAfter configs.Duration `json:"readyAfter"`
	// Reconnect is that of the scenario.
	Reconnect configs.Duration `json:"reconnect"`

	mu     sync.Mutex
	agents []*agentd.Agent
	turn   context.CancelFunc // ends what turns properties; nil while nothing does
	turns  sync.WaitGroup
}

// newcomer is an agent to start, with the token that it enrols with.
type newcomer struct {
	Member string `json:"member"`
	Token  string `json:"token"`
}

func (r *agentsRole) start(_ context.Context, mux *http.ServeMux) (any, func(), error) {
	mux.HandleFunc("/start", answer(r.startAgents))
	mux.HandleFunc("/churn", answer(r.churn))
	return struct{}{}, r.stop, nil
}

// startAgents starts agents and returns when their starts are under way.
func (r *agentsRole) startAgents(ctx context.Context, newcomers []newcomer) (started int, err error) {
	waiting := make(chan newcomer)
	var starting sync.WaitGroup
	var mu sync.Mutex
	for range startersAtOnce {
		starting.Go(func() {
			for n := range waiting {
				fault := r.startAgent(ctx, n)
				mu.Lock()
				err = errors.Join(err, fault)
				mu.Unlock()
			}
		})
	}
	for _, n := range newcomers {
		waiting <- n
	}
	close(waiting)
	starting.Wait()
	return len(newcomers), err
}

func (r *agentsRole) startAgent(ctx context.Context, n newcomer) error {
	token, err := validate.Token(n.Token)
	if err != nil {
		return err
	}
	config := configs.DefaultAgent()
	config.Member, config.Bus, config.DataDir = n.Member, configs.Bus{URL: r.URL}, filepath.Join(r.Dir, n.Member)
	config.Target.Memory.Nodes = []configs.Nodes{{Name: "n", Count: 2, CPU: "64", Memory: "256Gi"}}
	config.Target.Memory.ReadyAfter = r.ReadyAfter
	agent, err := agentd.New(agentd.Options{
		Config: config, Token: &token, Aside: true, Now: elsewhen.Now,
		Reconnect: bus.Reconnect{Wait: time.Duration(r.Reconnect), Jitter: time.Duration(r.Reconnect)},
		Log:       processLog().Level(zerolog.ErrorLevel).With().Str("member", n.Member).Logger(),
	})
	if err == nil {
		err = agent.Start(ctx)
	}
	if err != nil {
		return fmt.Errorf("starting the agent of %s: %w", n.Member, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.agents = append(r.agents, agent)
	return nil
}

// churn has the properties of every member change once in so long, from now on; 0 ends that.
func (r *agentsRole) churn(_ context.Context, every configs.Duration) (struct{}, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.turn != nil {
		r.turn()
		r.turns.Wait()
		r.turn = nil
	}
	if every == 0 {
		return struct{}{}, nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.turn = cancel
	for i, agent := range r.agents {
		phase := time.Duration(every) * time.Duration(i) / time.Duration(len(r.agents))
		r.turns.Go(func() { turn(ctx, agent, phase, time.Duration(every)) })
	}
	return struct{}{}, nil
}

// turn gives a member one node more, and takes it away again, each after so long, until ctx ends: the count of its
// nodes and what they hold change, which its agent tells.
func turn(ctx context.Context, agent *agentd.Agent, phase, every time.Duration) {
	node, err := target.NewNode("more", "64", "256Gi")
	if err != nil {
		panic(err) // constants
	}
	timer := time.NewTimer(phase)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			if !agent.Memory().RemoveNode(node.Name) {
				agent.Memory().AddNode(node)
			}
			timer.Reset(every)
		}
	}
}

// stop stops all agents at once.
func (r *agentsRole) stop() {
	_, _ = r.churn(context.Background(), 0)
	var stopping sync.WaitGroup
	for _, agent := range r.agents {
		stopping.Go(func() { _ = agent.Stop() })
	}
	stopping.Wait()
}
