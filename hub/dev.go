package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/rs/zerolog"

	"flotilla/configs"
	"flotilla/hub/dev"
	"flotilla/hub/hubd"
)

// runDev runs a hub and eight members in memory in this process until ctx ends.
func runDev(ctx context.Context, config *configs.Hub, now func() time.Time, log zerolog.Logger, out io.Writer) error {
	members, err := dev.ExampleMembers()
	if err != nil {
		return err
	}
	given := options(config, log, os.Getenv)
	given.Now = now
	devPage(&given)
	devKubernetes(&given)
	hurry(&given.Policy.Disruption)
	fleet, err := dev.Start(ctx, dev.Options{Hub: given, Members: members, Log: log})
	if err != nil {
		return err
	}
	failed := serveDev(ctx, fleet, out)
	if err := fleet.Stop(); err != nil {
		log.Warn().Err(err).Msg("stopping")
	}
	return failed
}

// hurry shortens the waits of node disruption for somebody who looks on, unless the configuration sets them.
func hurry(d *configs.Disruption) {
	usual := configs.DefaultHub().Disruption
	if d.ValidationWait == usual.ValidationWait {
		d.ValidationWait = configs.Duration(3 * time.Second)
	}
	if d.Interval == usual.Interval {
		d.Interval = configs.Duration(time.Second)
	}
}

func serveDev(ctx context.Context, fleet *dev.Fleet, out io.Writer) error {
	if err := fleet.AdmitExamples(ctx); err != nil {
		return err
	}
	page, err := pageLines(ctx, fleet.Hub)
	if err != nil {
		return err
	}
	printNext(out, fleet.Hub, fleet.Client.Fleet.Name, page+kubernetesLines(fleet.Hub))
	select {
	case <-ctx.Done():
		return nil
	case err := <-fleet.Hub.Failed():
		return err
	}
}

func printNext(out io.Writer, hub *hubd.Hub, fleet, more string) {
	_, _ = fmt.Fprintf(out, `
A hub and eight members in memory are running. In another terminal:

  export NATS_URL=%s
%s%s%s  go run ./hub/flotilla get members
  go run ./hub/flotilla apply -f configs/examples/
  go run ./hub/flotilla get placements -w
%s
Ctrl-C stops everything.
`, hub.Server().URL(), credsLine(hub.Server()), caLine(hub.Server()), fleetLine(fleet), more)
}

func absolute(file string) string {
	if full, err := filepath.Abs(file); err == nil {
		return full
	}
	return file
}
