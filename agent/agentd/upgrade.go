package agentd

import (
	"fmt"
	"time"

	targetmemory "flotilla/agent/target/memory"
	"flotilla/agent/upgrader"
	"flotilla/agent/upgrader/memory"
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
	case a.memory != nil:
		return memory.New(a.memory, targetmemory.Pace{
			ControlPlane: time.Duration(u.Memory.ControlPlane), NodePool: time.Duration(u.Memory.NodePool), Images: u.Memory.Images,
		}), nil
	default:
		return nil, fmt.Errorf("upgrade.driver: found %q, expected %s, because the member is not one in memory", u.Driver, configs.DriverExec)
	}
}
