package memory

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"flotilla/agent/target"
	"flotilla/agent/target/memory/faults"
	"flotilla/core/api"
)

// SetFaults makes the member have these faults and no others; faults.Faults{} heals it.
func (m *Member) SetFaults(f faults.Faults) {
	m.mu.Lock()
	defer m.unlock()
	m.faults = f.Clone()
	m.noteDrift()
	for _, s := range m.sorted() {
		m.assignAddress(s)
	}
	for _, n := range m.nodes {
		m.judge(n)
	}
	m.pass()
	m.notify(target.Change{Health: true, Nodes: true, Pods: true})
	for owner := range m.owners {
		m.notify(target.Change{Owners: []string{owner}})
	}
	m.unpark()
	m.resume()
}

// down is the error of every call while the member is down.
func (m *Member) down() error {
	if m.faults.Down || m.faults.Off {
		return apierrors.NewServiceUnavailable("the API server of member " + m.name + " does not answer")
	}
	return nil
}

// hinder lets a write wait and fail as the faults say.
func (m *Member) hinder(ctx context.Context, ref api.ObjectRef) error {
	m.mu.Lock()
	slow := m.faults.Slow
	m.unlock()
	if slow > 0 {
		over := make(chan struct{})
		stop := m.clock.AfterFunc(slow, func() { close(over) })
		defer stop()
		select {
		case <-ctx.Done():
			return fmt.Errorf("writing %s: %w", ref, ctx.Err())
		case <-over:
		}
	}
	m.mu.Lock()
	defer m.unlock()
	if err := m.down(); err != nil {
		return err
	}
	if m.faults.Fails(ref) {
		return apierrors.NewForbidden(target.GroupResource(ref), ref.Name, fmt.Errorf("member %s refuses %s on request", m.name, ref))
	}
	return nil
}
