package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/rs/zerolog"

	"flotilla/agent/agentd"
	"flotilla/bus"
	"flotilla/configs"
	"flotilla/configs/examples"
	"flotilla/core/api"
	"flotilla/hub/hubd"
)

// dev runs a hub and eight members in memory in this process until ctx ends.
func dev(ctx context.Context, config *configs.Hub, out io.Writer) error {
	log := logger(config.Log, os.Stderr)
	hub, err := hubd.New(options(config, log))
	if err != nil {
		return err
	}
	if err := hub.Start(ctx); err != nil {
		return err
	}
	defer hub.Stop()
	if hub.Server() == nil {
		return errors.New("--dev brings its own NATS server: leave out --url, --creds and --context")
	}
	if err := hub.WaitLeading(ctx); err != nil {
		return err
	}
	stop, err := startMembers(ctx, config, hub, log)
	defer stop()
	if err != nil {
		return err
	}
	if err := admitMembers(ctx, hub, config.Fleet, log); err != nil {
		return err
	}
	printNext(out, hub)
	select {
	case <-ctx.Done():
		return nil
	case err := <-hub.Failed():
		return err
	}
}

// startMembers starts the agents of configs/examples/agents; stop ends those that started.
func startMembers(ctx context.Context, config *configs.Hub, hub *hubd.Hub, log zerolog.Logger) (stop func(), err error) {
	var agents []*agentd.Agent
	stop = func() {
		for _, agent := range agents {
			if err := agent.Stop(); err != nil {
				log.Warn().Err(err).Str("member", agent.Member()).Msg("stopping an agent")
			}
		}
	}
	files, err := fs.Glob(examples.Files, "agents/*.yaml")
	if err != nil {
		return stop, err
	}
	for _, file := range files {
		agent, err := startMember(ctx, file, config, hub, log)
		if err != nil {
			return stop, fmt.Errorf("starting the member of %s: %w", path.Base(file), err)
		}
		agents = append(agents, agent)
	}
	return stop, nil
}

func startMember(ctx context.Context, file string, config *configs.Hub, hub *hubd.Hub, log zerolog.Logger) (*agentd.Agent, error) {
	text, err := fs.ReadFile(examples.Files, file)
	if err != nil {
		return nil, err
	}
	member, err := configs.LoadAgent(file, text)
	if err != nil {
		return nil, err
	}
	member.Fleet = config.Fleet
	member.DataDir = filepath.Join(config.DataDir, "members", member.Member)
	creds, err := hub.Server().AgentCreds(member.Member)
	if err != nil {
		return nil, err
	}
	agent, err := agentd.New(agentd.Options{
		Config: member, Server: hub.Server(), CredsText: creds, Log: log.With().Str("member", member.Member).Logger(),
	})
	if err != nil {
		return nil, err
	}
	return agent, agent.Start(ctx)
}

// admitMembers applies the MemberClusters of configs/examples/members.yaml that are not there yet, as
// any client would.
func admitMembers(ctx context.Context, hub *hubd.Hub, fleet string, log zerolog.Logger) error {
	client, err := bus.ConnectClient(ctx, bus.Options{
		Fleet: fleet, URL: hub.Server().URL(), Creds: hub.Server().OperatorCreds(), Name: "dev", Log: log,
	})
	if err != nil {
		return err
	}
	defer client.Close()
	text, err := fs.ReadFile(examples.Files, "members.yaml")
	if err != nil {
		return err
	}
	documents, err := configs.Parse("members.yaml", text)
	if err != nil {
		return err
	}
	request := api.ApplyRequest{Request: string(uuid.NewUUID())}
	for _, document := range documents {
		missing, err := isMissing(ctx, client, document.JSON)
		if err != nil {
			return err
		}
		if missing {
			request.Documents = append(request.Documents, document.JSON)
		}
	}
	if len(request.Documents) == 0 {
		return nil
	}
	if err := bus.Request(ctx, client, api.VerbApply, request, nil, bus.RequestOptions{}); err != nil {
		return fmt.Errorf("admitting the members: %w", err)
	}
	return nil
}

func isMissing(ctx context.Context, client *bus.Conn, document json.RawMessage) (bool, error) {
	var member api.MemberCluster
	if err := json.Unmarshal(document, &member); err != nil {
		return false, err
	}
	// A member that only heartbeats is shown too; it has no uid yet.
	var shown api.MemberCluster
	err := bus.Request(ctx, client, api.VerbGet, api.GetRequest{Kind: api.KindMemberCluster, Name: member.Name}, &shown, bus.RequestOptions{})
	var failure *api.Failure
	if errors.As(err, &failure) && failure.Code == api.CodeNotFound {
		return true, nil
	}
	return shown.UID == "", err
}

func printNext(out io.Writer, hub *hubd.Hub) {
	fmt.Fprintf(out, `
A hub and eight members in memory are running. In another terminal:

  export NATS_URL=%s
  export NATS_CREDS=%s
  go run ./hub/flotilla get members
  go run ./hub/flotilla apply -f configs/examples/
  go run ./hub/flotilla get placements -w

Ctrl-C stops everything.
`, hub.Server().URL(), absolute(hub.Server().OperatorCreds()))
}

func absolute(file string) string {
	if full, err := filepath.Abs(file); err == nil {
		return full
	}
	return file
}
