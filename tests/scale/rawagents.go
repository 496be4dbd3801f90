package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"flotilla/configs"
	"flotilla/subjects"
)

// rawAgentsRole is a process of clients, each with a connection of its own: told of a command, it reads it, then the
// content of the round, and stores a result once it would be ready.
type rawAgentsRole struct {
	URL        string           `json:"url"`
	ReadyAfter configs.Duration `json:"readyAfter"`

	mu    sync.Mutex
	conns []*nats.Conn
	fault error
}

// rawMembers are those to begin with, and what each does in a round.
type rawMembers struct {
	Members    []string `json:"members"`
	Content    int      `json:"content"`
	ResultSize int      `json:"resultSize"`
}

func (r *rawAgentsRole) start(_ context.Context, mux *http.ServeMux) (any, func(), error) {
	mux.HandleFunc("/start", answer(r.connect))
	mux.HandleFunc("/fault", answer(func(context.Context, struct{}) (struct{}, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		return struct{}{}, r.fault
	}))
	return struct{}{}, func() {
		for _, nc := range r.conns {
			nc.Close()
		}
	}, nil
}

func (r *rawAgentsRole) connect(_ context.Context, o rawMembers) (int, error) {
	for _, member := range o.Members {
		nc, err := nats.Connect(r.URL, nats.Name(member))
		if err != nil {
			return 0, fmt.Errorf("connecting %s: %w", member, err)
		}
		r.conns = append(r.conns, nc)
		a := &rawAgent{nc: nc, member: member, content: o.Content, result: o.ResultSize, readyAfter: time.Duration(r.ReadyAfter)}
		_, err = nc.Subscribe("hint."+member, func(*nats.Msg) { // one at a time, in order
			if err := a.follow(); err != nil {
				r.mu.Lock()
				defer r.mu.Unlock()
				r.fault = errors.Join(r.fault, fmt.Errorf("%s: %w", member, err))
			}
		})
		if err == nil {
			err = nc.Flush()
		}
		if err != nil {
			return 0, err
		}
	}
	return len(o.Members), nil
}

type rawAgent struct {
	nc              *nats.Conn
	member          string
	content, result int
	readyAfter      time.Duration
}

// follow reads the newest command and what it needs, and has a result stored later.
func (a *rawAgent) follow() error {
	command, err := a.get(rawCommands, rawCommands+"."+a.member)
	if err != nil {
		return err
	}
	of := command.Header.Get(headerRound)
	for i := range a.content {
		if _, err := a.get(rawContent, fmt.Sprintf("%s.%s-%d", rawContent, of, i)); err != nil {
			return err
		}
	}
	result := nats.NewMsg(rawResults + "." + a.member)
	result.Header.Set(headerRound, of)
	result.Data = make([]byte, a.result)
	time.AfterFunc(a.readyAfter, func() { _, _ = a.nc.RequestMsg(result, rawPatience) }) // one that does not come is missed in the hub
	return nil
}

func (a *rawAgent) get(stream, subject string) (*nats.Msg, error) {
	m, err := a.nc.Request(subjects.DirectGet(stream, subject), nil, rawPatience)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", subject, err)
	}
	if status := m.Header.Get("Status"); status != "" {
		return nil, fmt.Errorf("reading %s: %s %s", subject, status, m.Header.Get("Description"))
	}
	return m, nil
}
