package agentd

import (
	"fmt"

	"flotilla/bus"
	"flotilla/configs"
)

// openWallet opens how the agent proves who it is, and goes by the fleet that this was made for.
func (a *Agent) openWallet() error {
	c := &a.o.Config
	wallet, err := bus.OpenWallet(c.DataDir, a.o.Token)
	if err != nil || wallet == nil {
		return err
	}
	if wallet.Member() != c.Member {
		return fmt.Errorf("member: found %s, expected %s, for which the agent was enrolled: leave out --member, or give each its own folder with --data", c.Member, wallet.Member())
	}
	if c.Fleet == configs.DefaultAgent().Fleet {
		c.Fleet = wallet.Fleet()
	}
	if wallet.Fleet() != c.Fleet {
		return fmt.Errorf("fleet: found %s, expected %s, in which the agent was enrolled: leave out --fleet, or enrol in the other one", c.Fleet, wallet.Fleet())
	}
	a.wallet = wallet
	return nil
}
