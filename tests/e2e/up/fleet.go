package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"flotilla/tests/e2e/lab"
)

// patience is how long the hub, and each agent, may take to be there on a machine that does much else.
const patience = 2 * time.Minute

// fleet is a hub, and an agent beside each cluster of a lab, as processes.
type fleet struct {
	lab *lab.Lab
	env []string // of who types commands
}

func newFleet(l *lab.Lab) *fleet { return &fleet{lab: l} }

func (f *fleet) path(words ...string) string {
	return filepath.Join(append([]string{f.lab.Folder(), "fleet"}, words...)...)
}

// start returns when every member is Ready.
func (f *fleet) start(ctx context.Context) error {
	build := exec.CommandContext(ctx, "go", "build", "-o", f.path("bin")+"/", "flotilla/hub", "flotilla/agent", "flotilla/hub/flotilla")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building hub, agent and flotilla: %w\n%s", err, out)
	}
	if err := f.startHub(ctx); err != nil {
		return fmt.Errorf("starting the hub: %w", err)
	}
	for _, member := range members {
		if err := f.join(ctx, member); err != nil {
			return fmt.Errorf("joining %s: %w", member, err)
		}
	}
	return nil
}

func (f *fleet) startHub(ctx context.Context) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	address := listener.Addr().String()
	_, port, err := net.SplitHostPort(address)
	if err := errors.Join(err, listener.Close()); err != nil {
		return err
	}
	f.env = []string{"NATS_URL=nats://" + address, "NATS_CREDS=" + f.path("hub", "operator.creds")}
	if err := f.lab.Run("hub", f.path("bin", "hub"), "--data", f.path("hub"), "--port", port); err != nil {
		return err
	}
	return f.eventually(ctx, "status")
}

// join starts the agent of a member, and admits it.
func (f *fleet) join(ctx context.Context, member string) error {
	kubeconfig, err := f.lab.Cluster(member).Kubeconfig("flotilla-agent", "system:masters")
	if err != nil {
		return err
	}
	token, err := f.flotilla(ctx, "member", "enrol", member)
	if err != nil {
		return err
	}
	if err := os.WriteFile(f.path(member+".token"), []byte(token), 0o600); err != nil {
		return err
	}
	err = f.lab.Run("agent-"+member, f.path("bin", "agent"),
		"--token", "@"+f.path(member+".token"), "--data", f.path(member), "--kubeconfig", kubeconfig)
	if err != nil {
		return err
	}
	if err := f.eventually(ctx, "member", "admit", member); err != nil {
		return err
	}
	_, err = f.flotilla(ctx, "wait", "member/"+member, "--for=jsonpath={.status.state}=Ready", "--timeout=2m")
	return err
}

// eventually types a command until it succeeds.
func (f *fleet) eventually(ctx context.Context, words ...string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not within %s", patience))
	defer cancel()
	return lab.Until(ctx, func(ctx context.Context) error {
		if fault := f.lab.Err(); fault != nil {
			return fault
		}
		_, err := f.flotilla(ctx, words...)
		return err
	})
}

// flotilla types a command, and returns what it printed.
func (f *fleet) flotilla(ctx context.Context, words ...string) (string, error) {
	command := exec.CommandContext(ctx, f.path("bin", "flotilla"), words...)
	command.Env = append(os.Environ(), f.env...)
	var said strings.Builder
	command.Stderr = &said
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("$ flotilla %s: %w\n%s%s", strings.Join(words, " "), err, out, said.String())
	}
	return string(out), nil
}
