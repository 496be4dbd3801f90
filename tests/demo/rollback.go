package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"flotilla/core/api"
	"flotilla/hub/flotilla/cli/session"
)

// winter is a change of the bookshop that never becomes available, and a run that brings it.
const (
	winterRun = "bookshop-winter"
	winter    = `# A reader that asks for more than any machine has.
apiVersion: apps/v1
kind: Deployment
metadata: {name: reader, namespace: bookshop}
spec:
  selector: {matchLabels: {app: reader}}
  template:
    metadata: {labels: {app: reader}}
    spec:
      containers:
      - {name: reader, image: "registry.example.com/bookshop/reader:1.0.0", resources: {requests: {cpu: "1000"}}}
---
apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterStagedUpdateRun
metadata: {name: bookshop-winter}
spec: {placementName: bookshop, stagedRolloutStrategyName: test-then-production, state: Run}
`
)

// rollBack brings a bad change to the test members, whose check fails: they go back by themselves, and production never gets it.
func (d *demo) rollBack(ctx context.Context) error {
	if !d.neverCheck {
		if err := d.check(ctx); err != nil {
			return err
		}
	}
	file := filepath.Join(d.folder, "winter.yaml")
	if err := os.WriteFile(file, []byte(winter), 0o600); err != nil {
		return err
	}
	if err := d.flotilla(ctx, "apply", "-f", file); err != nil {
		return err
	}
	err := d.until(ctx, "a test member gets the change", func(context.Context) error {
		if len(d.readers()) == 0 {
			return errors.New("nobody has it")
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := d.until(ctx, "the run has failed, and nobody has the change any more", d.back); err != nil {
		return err
	}
	if err := d.exits(ctx, session.ExitPartial, "run", "status", winterRun); err != nil {
		return err
	}
	return d.flotilla(ctx, "events", "placement/"+bookshop)
}

// check puts the strategy under the check of configs/examples/checks.
func (d *demo) check(ctx context.Context) error {
	file := d.staged("strategy")
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	checked := strings.Replace(string(text), "metadata:\n", "metadata:\n  annotations: {"+api.AnnotationRolloutCheck+": available}\n", 1)
	if err := os.WriteFile(file, []byte(checked), 0o600); err != nil {
		return err
	}
	for _, file := range []string{filepath.Join(d.examples(), "checks", "check.yaml"), file} {
		if err := d.flotilla(ctx, "apply", "-f", file); err != nil {
			return err
		}
	}
	return nil
}

// readers are the members that have the bad change.
func (d *demo) readers() (all []string) {
	for _, member := range d.fleet.Members() {
		for _, object := range d.fleet.Agent(member).Memory().Objects() {
			if object.GetKind() == "Deployment" && object.GetNamespace() == bookshop {
				all = append(all, member)
			}
		}
	}
	return all
}

// back wants the run to have failed, and every member to have what it had before.
func (d *demo) back(ctx context.Context) error {
	if err := d.runIs(ctx, winterRun, api.StateFailed); err != nil {
		return err
	}
	if readers := d.readers(); len(readers) > 0 {
		return fmt.Errorf("%v have the change", readers)
	}
	p, err := d.placement(ctx, bookshop)
	if err != nil {
		return err
	}
	for i := range p.Status.PlacementStatuses {
		if m := &p.Status.PlacementStatuses[i]; m.ObservedResourceIndex != "1" {
			return fmt.Errorf("%s has revision %q, expected 1", m.ClusterName, m.ObservedResourceIndex)
		}
	}
	return nil
}
