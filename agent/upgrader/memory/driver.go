// Package memory is the upgrade driver of members in memory: the member itself plays the provider that
// moves its control plane and makes its node pools anew, at a pace that is given, and fails on request.
//
// Package agentd gives it to the upgrader. An operation goes on while its agent is away, as with a
// managed cluster; it is lost with the process that holds the member.
package memory

import (
	"context"

	"flotilla/agent/target/memory"
	"flotilla/agent/target/memory/provision"
	"flotilla/core/api"
)

// Driver drives one member in memory.
type Driver struct {
	member *memory.Member
	pace   provision.Pace
}

// New returns the driver of a member.
func New(member *memory.Member, pace provision.Pace) *Driver {
	return &Driver{member: member, pace: pace}
}

// String names the driver.
func (d *Driver) String() string { return "memory" }

// Inventory is what the member's provider knows.
func (d *Driver) Inventory(ctx context.Context) (api.MemberInventory, error) {
	return d.member.Inventory(ctx)
}

// Run carries out an operation and returns what came of it. The error is that of ctx; the operation
// then goes on.
func (d *Driver) Run(ctx context.Context, op api.UpgradeOperation, report func(api.UpgradeResult)) (api.UpgradeResult, bool, error) {
	if err := d.member.BeginUpgrade(op, d.pace); err != nil {
		return api.UpgradeResult{Outcome: api.OutcomeFailed, Reason: api.ReasonUpgradeFailed, Message: err.Error()}, true, nil
	}
	return d.Resume(ctx, op, report)
}

// Resume follows an operation that was begun before; false when the member does not know it.
func (d *Driver) Resume(ctx context.Context, op api.UpgradeOperation, report func(api.UpgradeResult)) (api.UpgradeResult, bool, error) {
	for {
		state, known := d.member.UpgradeState(op.ID)
		switch {
		case !known:
			return api.UpgradeResult{}, false, nil
		case state.Ended && state.Fault != "":
			return api.UpgradeResult{Outcome: api.OutcomeFailed, Reason: api.ReasonUpgradeFailed, Message: state.Fault, Pools: state.Pools}, true, nil
		case state.Ended:
			return api.UpgradeResult{Outcome: api.OutcomeSucceeded, Message: state.Message, Pools: state.Pools}, true, nil
		}
		report(api.UpgradeResult{Percent: state.Percent, Message: state.Message, Pools: state.Pools})
		select {
		case <-ctx.Done():
			return api.UpgradeResult{}, true, ctx.Err()
		case <-state.Changed:
		}
	}
}
