// Package none is the upgrade driver of members that nobody said how to upgrade: it tells what the API server says of
// versions, and refuses operations.
//
// Package agentd gives it to the upgrader where upgrade.driver is none.
package none

import (
	"context"

	"flotilla/core/api"
)

// Driver carries out nothing.
type Driver struct{}

// String names the driver.
func (Driver) String() string { return "none" }

// Run refuses the operation; nothing was changed.
func (Driver) Run(context.Context, api.UpgradeOperation, func(api.UpgradeResult)) (api.UpgradeResult, bool, error) {
	return api.UpgradeResult{
		Outcome: api.OutcomeBlocked, Reason: api.ReasonUpgradeFailed,
		Message: "the agent was not told how to upgrade this member: set upgrade.driver in its configuration",
	}, true, nil
}

// Resume knows of no operation: none was ever begun.
func (Driver) Resume(context.Context, api.UpgradeOperation, func(api.UpgradeResult)) (api.UpgradeResult, bool, error) {
	return api.UpgradeResult{}, false, nil
}

// Inventory leaves all of it to the API server.
func (Driver) Inventory(context.Context) (api.MemberInventory, error) {
	return api.MemberInventory{}, nil
}
