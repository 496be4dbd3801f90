package member

import (
	"fmt"

	"flotilla/bus"
	"flotilla/subjects"
)

// opened is a stored command of a kind as the hub packed it. An index that is not sealed to this agent, by the hub
// that made its token, is ErrNotOfHub.
func (a *Conn) opened(kind string, stored []byte) ([]byte, error) {
	switch {
	case kind != subjects.CommandPlacement:
		return stored, nil
	case a.wallet == nil:
		return nil, fmt.Errorf("%w: the agent registered no key; `flotilla member enrol %s` makes a token for --token", bus.ErrNotOfHub, a.member)
	}
	return a.wallet.openIndex(stored)
}

// openIndex opens what the hub sealed to any key of the wallet: while a token is traded there are two.
func (w *Wallet) openIndex(sealed []byte) ([]byte, error) {
	w.mu.Lock()
	held, next := w.held, w.next
	w.mu.Unlock()
	for _, p := range []*papers{held, next} {
		if p == nil || p.HubKey == "" {
			continue
		}
		if value, err := p.sealing.Open(sealed, p.HubKey); err == nil {
			return value, nil
		}
	}
	return nil, fmt.Errorf("%w; after a loss of the hub's secrets enrol anew, `flotilla member enrol %s`", bus.ErrNotOfHub, w.Member())
}
