package command

import (
	"context"
	"encoding/json"
	"fmt"

	"flotilla/agent/exec"
	"flotilla/core/api"
)

// maxInventory bounds what the command of the inventory prints.
const maxInventory = 1 << 20

// Inventory runs the command that prints it; without one the driver knows nothing of the member.
func (d *Driver) Inventory(ctx context.Context) (api.MemberInventory, error) {
	var i api.MemberInventory
	if len(d.o.Inventory) == 0 {
		return i, nil
	}
	c := exec.Command{
		Argv: d.o.Inventory, Directory: d.o.Directory, Timeout: d.o.Timeout, Most: maxInventory,
		Environment: exec.Variables(d.o.Environment, "FLOTILLA_MEMBER="+d.o.Member),
	}
	a, err := c.Run(ctx)
	if err == nil && a.Exit != 0 {
		err = fmt.Errorf("exit status %d%s", a.Exit, a.Because())
	}
	if err != nil {
		return i, fmt.Errorf("reading the inventory by %s: %w", d.o.Inventory[0], err)
	}
	if err := json.Unmarshal([]byte(a.Printed), &i); err != nil {
		return i, fmt.Errorf(`reading the inventory by %s: it printed no MemberInventory, such as {"controlPlaneVersion": "1.36.3", "nodePools": [{"name": "np1", "kubernetesVersion": "1.36.3"}]}: %w`,
			d.o.Inventory[0], err)
	}
	return i, nil
}
