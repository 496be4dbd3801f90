package disruption

// lasting is what would keep a node if no pod were expected on it, nil when nothing that is known without
// a simulation would.
func (d *deciding) lasting(c *candidate) *Refusal {
	refusal, kept := d.x.standing(c.inode)
	if kept {
		return &refusal
	}
	expires, ends := expiresAt(c.state, c.pool)
	replaced := ends && !expires.After(d.now) || d.driftOf(c) != ""
	if !replaced || c.state.TerminationGracePeriod == "" {
		if refusal, _ = d.x.hindered(c.inode); refusal.Code != "" {
			return &refusal
		}
		if refusal = d.x.exceeded(c.inode); refusal.Code != "" {
			return &refusal
		}
	}
	refusal = unconsolidated(c)
	switch {
	case replaced, refusal.Code == "", c.empty && refusal.Code != CodeStatic && refusal.Code != CodeDisabled:
		return nil
	}
	return &refusal
}
