package enroller

import "flotilla/bus/enrolments"

// Waiting is the statement that waits for a member to be admitted, nil for none.
func (e *Enroller) Waiting(member string) *enrolments.Enrolment {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.waiting[member]
}
