package bus

// Announce is what the library does a while after the connection is up.
func (c *Conn) Announce() { c.disturb(Restored, nil) }

// Lose is what the library does when the connection is gone.
func (c *Conn) Lose() { c.disturb(Lost, nil) }

// Unannounced is the connection as it is before the library announces it.
func (c *Conn) Unannounced() *Conn {
	return &Conn{NC: c.NC, JS: c.JS, Fleet: c.Fleet, Log: c.Log}
}

// Lead says that the hub of the connection leads now.
func (c *Conn) Lead() error { return c.lead() }
