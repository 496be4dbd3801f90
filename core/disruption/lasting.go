package disruption

// lasting is what would keep a node if no pod were expected on it, nil when nothing that is known without
// a simulation would.
func (d *deciding) lasting(c *candidate) *Refusal {
	refusal, kept := standing(d.x, c.ExistingNode)
	if kept {
		return &refusal
	}
	expires, ends := ExpiresAt(c.State, c.Pool)
	replaced := ends && !expires.After(d.now) || d.driftOf(c) != ""
	if !replaced || c.State.TerminationGracePeriod == "" {
		if refusal, _ = hindered(d.x, c.ExistingNode); refusal.Code != "" {
			return &refusal
		}
		if refusal = exceeded(d.x, c.ExistingNode); refusal.Code != "" {
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
