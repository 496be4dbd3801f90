package bus

import (
	"fmt"

	"flotilla/core/api"

	"github.com/nats-io/nats.go"
)

// Decline answers every request to the hub with a failure, for as long as no hub can lead, until stop is
// called: who asks learns why, instead of waiting.
func (c *Conn) Decline(failure func() *api.Failure) (stop func(), err error) {
	asked, err := c.NC.Subscribe(c.Fleet.APIGroup()+".>", func(m *nats.Msg) {
		if m.Reply == "" {
			return
		}
		answer := nats.NewMsg(m.Reply)
		fail(answer, failure())
		if err := c.NC.PublishMsg(answer); err != nil {
			c.Log.Warn().Err(err).Str("subject", m.Subject).Msg("declining a request")
		}
	})
	if err != nil {
		return nil, fmt.Errorf("declining requests: %w", err)
	}
	return func() { _ = asked.Unsubscribe() }, nil
}
