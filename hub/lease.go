package main

import (
	"time"

	"flotilla/bus/store"
	"flotilla/configs/terminal"
)

// shorten gives a hub the lease of a rehearsal, if the environment asks for one.
func shorten(o *store.LeadOptions) error {
	ttl, err := terminal.Rehearsal(terminal.Lease)
	if err != nil || ttl == 0 {
		return err
	}
	o.TTL, o.Renew, o.Margin, o.Poll = ttl, ttl/5, ttl/4, min(ttl/5, time.Second)
	return nil
}
