package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// memoryFolder is where folders lie that are in memory.
const memoryFolder = "/dev/shm"

// pass puts fleets through scenarios, one after another, and returns what each step took.
type pass struct {
	// folder holds what the hub stores, and agents, unless a scenario wants theirs in memory.
	folder string
	// raw says that NATS alone is measured beside.
	raw bool
	// profiles is the folder that profiles of every step are kept in, none when empty.
	profiles string
	// out is told what happens.
	out io.Writer
}

func (p *pass) run(ctx context.Context, all []Scenario) ([]*Measured, error) {
	var measured []*Measured
	for i := range all {
		for _, where := range all[i].Folders {
			found, err := p.scenario(ctx, &all[i], where)
			if err != nil {
				return measured, fmt.Errorf("scenario %s: %w", all[i].Name, err)
			}
			measured = append(measured, found...)
		}
	}
	return measured, nil
}

// scenario starts a fleet, has it do all steps, ends it, and then measures NATS alone.
func (p *pass) scenario(ctx context.Context, s *Scenario, where string) (measured []*Measured, err error) {
	folder, err := os.MkdirTemp(p.folder, s.Name+"-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err == nil { // logs say more of what went wrong
			err = os.RemoveAll(folder)
		}
	}()
	homes := filepath.Join(folder, "agents")
	if where == inMemory {
		if homes, err = os.MkdirTemp(memoryFolder, "flotilla-scale-"); err != nil {
			return nil, fmt.Errorf("folders in memory: %w", err)
		}
	}
	_, _ = fmt.Fprintf(p.out, "%s: %d members, folders on %s; %s\n", s.Name, s.Members, where, s.Says)
	fleet, err := startFleet(ctx, s, folder, homes)
	if err != nil {
		return nil, err
	}
	if p.profiles != "" {
		fleet.profiles = filepath.Join(p.profiles, s.Name+"-"+where)
	}
	for i := range s.Steps {
		m, fault := fleet.step(ctx, &s.Steps[i])
		if err = fault; err != nil {
			err = fmt.Errorf("step %s: %w", s.Steps[i].Name, err)
			break
		}
		m.Scenario, m.Folders = s.Name, where
		measured = append(measured, m)
		_, _ = fmt.Fprintln(p.out, " ", m)
	}
	if err = errors.Join(err, fleet.stop()); err != nil || !p.raw {
		return measured, err
	}
	for i, m := range measured {
		if m.Raw, err = rawOf(ctx, folder, s, &s.Steps[i], m); err != nil {
			return measured, fmt.Errorf("NATS alone, step %s: %w", s.Steps[i].Name, err)
		}
	}
	return measured, nil
}
