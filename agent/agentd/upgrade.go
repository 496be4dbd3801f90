package agentd

import (
	"fmt"
	"path/filepath"
	"time"

	targetmemory "flotilla/agent/target/memory"
	"flotilla/agent/upgrader"
	"flotilla/agent/upgrader/command"
	"flotilla/agent/upgrader/memory"
	"flotilla/agent/upgrader/none"
	"flotilla/bus"
	"flotilla/configs"
	"flotilla/core/api"
)

// upgrader makes what carries out upgrades, with the driver that the configuration names.
func (a *Agent) upgrader(conn *bus.AgentConn) (*upgrader.Upgrader, error) {
	driver, err := a.driver()
	if err != nil {
		return nil, err
	}
	c := &a.o.Config
	return upgrader.New(upgrader.Options{
		Member: a.Member(), Hub: conn, Target: a.target, Driver: driver, Data: c.DataDir, PollEvery: a.o.PollEvery,
		Facts: api.MemberInventory{
			ClusterResourceID: c.ClusterResourceID, Region: c.Location, LongTermSupport: c.Upgrade.LongTermSupport, Maintenance: c.Maintenance,
		},
		Checks: upgrader.Checks{NodesReady: c.Upgrade.Checks.NodesReady, Settle: time.Duration(c.Upgrade.Checks.Settle)},
		Log:    a.o.Log,
	})
}

func (a *Agent) driver() (upgrader.Driver, error) {
	u := &a.o.Config.Upgrade
	switch {
	case u.Driver == configs.DriverNone || u.Driver == "" && a.memory == nil:
		return none.Driver{}, nil
	case u.Driver == configs.DriverExec && a.o.Shepherd == "":
		return nil, fmt.Errorf("upgrade.driver: %s needs the agent's own program: go run ./agent --member %s", u.Driver, a.Member())
	case u.Driver == configs.DriverExec:
		return command.New(command.Options{
			Dir: filepath.Join(a.o.Config.DataDir, "upgrades", "commands"), Program: a.o.Shepherd, Member: a.Member(),
			Command: u.Exec.Command, Inventory: u.Exec.Inventory, Environment: u.Exec.Environment, Directory: u.Exec.Directory,
			Timeout: time.Duration(u.Exec.Timeout), Grace: time.Duration(u.Exec.Grace),
		})
	case a.memory == nil:
		return nil, fmt.Errorf("upgrade.driver: found %q, expected %s, because the member is not one in memory", u.Driver, configs.DriverExec)
	}
	return memory.New(a.memory, targetmemory.Pace{
		ControlPlane: time.Duration(u.Memory.ControlPlane), NodePool: time.Duration(u.Memory.NodePool), Images: u.Memory.Images,
	}), nil
}
