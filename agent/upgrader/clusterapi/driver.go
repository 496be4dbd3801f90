package clusterapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"flotilla/agent/management"
	"flotilla/core/api"
)

const (
	// usualLook is how long it is between two looks at the Cluster, usualDeadline how long nothing has to move in it until
	// an operation has failed.
	usualLook     = 5 * time.Second
	usualDeadline = 30 * time.Minute
	// callTimeout bounds one look, with what is written after it.
	callTimeout = 20 * time.Second
)

// Options of a Driver. View and Now are needed.
type Options struct {
	// View is the Cluster on its management cluster.
	View *management.View
	// Deadline is how long nothing has to move until an operation has failed, 30 min when 0.
	Deadline time.Duration
	// LookEvery is how long it is between two looks, 5 s when 0.
	LookEvery time.Duration
	Now       func() time.Time
}

// Driver upgrades one Cluster.
type Driver struct{ o Options }

// New returns a driver; nothing is asked yet.
func New(o Options) *Driver {
	o.Deadline, o.LookEvery = cmp.Or(o.Deadline, usualDeadline), cmp.Or(o.LookEvery, usualLook)
	return &Driver{o: o}
}

// String names the driver.
func (d *Driver) String() string { return "clusterapi" }

// Run carries out an operation, unless something speaks against it while nothing is changed yet.
func (d *Driver) Run(ctx context.Context, op api.UpgradeOperation, report func(api.UpgradeResult)) (api.UpgradeResult, bool, error) {
	s, err := d.look(ctx)
	switch {
	case ctx.Err() != nil:
		return api.UpgradeResult{}, true, ctx.Err()
	case err != nil:
		return blocked(err.Error()), true, nil
	}
	if why := s.refuses(&op); why != "" {
		return api.UpgradeResult{Outcome: api.OutcomeFailed, Reason: api.ReasonAgentRejected, Message: why}, true, nil
	}
	if why := s.holdsUp(&op); why != "" {
		return blocked(why), true, nil
	}
	return d.follow(ctx, &work{op: &op, clean: true}, report)
}

// Resume goes on with an operation: what it wrote lies on the management cluster, and what it did not write yet is
// written now.
func (d *Driver) Resume(ctx context.Context, op api.UpgradeOperation, report func(api.UpgradeResult)) (api.UpgradeResult, bool, error) {
	return d.follow(ctx, &work{op: &op}, report)
}

// Check reads all that there is of the Cluster, once, and says everything that keeps the driver from it.
func (d *Driver) Check(ctx context.Context) error {
	found := d.o.View.Check(ctx)
	if cluster, err := d.o.View.Cluster(ctx); err == nil {
		_, err = d.o.View.ControlPlane(ctx, cluster)
		found = errors.Join(found, err)
	}
	return found
}

func (d *Driver) look(ctx context.Context) (*survey, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return read(ctx, d.o.View)
}

func blocked(why string) api.UpgradeResult {
	return api.UpgradeResult{Outcome: api.OutcomeBlocked, Message: why}
}

func failed(format string, args ...any) *api.UpgradeResult {
	return &api.UpgradeResult{Outcome: api.OutcomeFailed, Reason: api.ReasonUpgradeFailed, Message: fmt.Sprintf(format, args...)}
}
