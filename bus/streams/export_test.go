package streams

import "time"

// SetPatience has a server that is there be asked for d to take an event that no person caused. Nothing may run yet.
func (a *Audit) SetPatience(d time.Duration) { a.patience = d }

// Before is AuditPosition.before.
func Before(p, other AuditPosition) bool { return p.before(other) }
