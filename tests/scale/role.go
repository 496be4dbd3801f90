package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"time"
)

// roleVariable makes this program one of the processes of a fleet: it holds a role as JSON.
const roleVariable = "FLOTILLA_SCALE_ROLE"

// role is what a process of a fleet is; one field is set.
type role struct {
	Hub       *hubRole       `json:"hub,omitempty"`
	Agents    *agentsRole    `json:"agents,omitempty"`
	RawHub    *rawHubRole    `json:"rawHub,omitempty"`
	RawAgents *rawAgentsRole `json:"rawAgents,omitempty"`
}

// part is what a role does. Start returns what whoever launched the process is to know, as JSON, and what ends it.
type part interface {
	start(ctx context.Context, mux *http.ServeMux) (hello any, stop func(), err error)
}

// hello is the line that a process prints once it has started.
type hello struct {
	// Control is the address of figures, pprof and what the role adds, on loopback.
	Control string          `json:"control"`
	Part    json.RawMessage `json:"part"`
}

// play serves the role of this process until its standard input ends, which is when whoever launched it did; false
// when it has none.
func play() (played bool, err error) {
	text := os.Getenv(roleVariable)
	if text == "" {
		return false, nil
	}
	var r role
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return true, fmt.Errorf("%s: %w", roleVariable, err)
	}
	switch {
	case r.Hub != nil:
		return true, serve(r.Hub)
	case r.Agents != nil:
		return true, serve(r.Agents)
	case r.RawHub != nil:
		return true, serve(r.RawHub)
	case r.RawAgents != nil:
		return true, serve(r.RawAgents)
	}
	return true, fmt.Errorf("%s: found %s, expected a role", roleVariable, text)
}

func serve(p part) error {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/figures", answer(func(context.Context, struct{}) (Figures, error) { return figuresNow() }))
	new(profiler).handle(mux)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	said, stop, err := p.start(context.Background(), mux)
	if err != nil {
		return err
	}
	defer stop()
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = server.Serve(listener) }() // until the process ends
	told, err := json.Marshal(said)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode(hello{Control: listener.Addr().String(), Part: told}); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// answer decodes a request as JSON, where it has a body, and answers in JSON; an error is its text with code 500.
func answer[Q, A any](do func(context.Context, Q) (A, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var question Q
		err := json.NewDecoder(r.Body).Decode(&question)
		if err == io.EOF { //nolint:errorlint // the decoder returns it as it is for an empty body
			err = nil
		}
		var told A
		if err == nil {
			told, err = do(r.Context(), question)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_ = json.NewEncoder(w).Encode(told) // who asked went away
	}
}
