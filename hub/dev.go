package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"flotilla/configs"
	"flotilla/configs/terminal"
	"flotilla/hub/dev"
	"flotilla/hub/hubd"
)

// runDev runs a hub and eight members in memory in this process until ctx ends.
func runDev(ctx context.Context, config *configs.Hub, out io.Writer) error {
	log := terminal.Logger(config.Log, os.Stderr)
	members, err := dev.ExampleMembers()
	if err != nil {
		return err
	}
	fleet, err := dev.Start(ctx, dev.Options{Hub: options(config, log, os.Getenv), Members: members, Log: log})
	if err != nil {
		return err
	}
	failed := serveDev(ctx, fleet, out)
	if err := fleet.Stop(); err != nil {
		log.Warn().Err(err).Msg("stopping")
	}
	return failed
}

func serveDev(ctx context.Context, fleet *dev.Fleet, out io.Writer) error {
	if err := fleet.AdmitExamples(ctx); err != nil {
		return err
	}
	printNext(out, fleet.Hub, fleet.Client.Fleet.Name)
	select {
	case <-ctx.Done():
		return nil
	case err := <-fleet.Hub.Failed():
		return err
	}
}

func printNext(out io.Writer, hub *hubd.Hub, fleet string) {
	_, _ = fmt.Fprintf(out, `
A hub and eight members in memory are running. In another terminal:

  export NATS_URL=%s
  export NATS_CREDS=%s
%s  go run ./hub/flotilla get members
  go run ./hub/flotilla apply -f configs/examples/
  go run ./hub/flotilla get placements -w

Ctrl-C stops everything.
`, hub.Server().URL(), absolute(hub.Server().OperatorCreds()), fleetLine(fleet))
}

func absolute(file string) string {
	if full, err := filepath.Abs(file); err == nil {
		return full
	}
	return file
}
