package window

import "time"

// Lasts reports whether the schedule leaves, at some instant within 400 days from now on, a window that stays open for
// d or longer. Without a schedule it does. A schedule that never opens does not.
func (s *Schedule) Lasts(d time.Duration, now time.Time) bool {
	if s == nil {
		return true
	}
	end := now.Add(Horizon * time.Second)
	for at := now; at.Before(end); {
		o := s.Next(at)
		switch {
		case o.Opens.IsZero():
			return false
		case o.Closes.IsZero():
			return true
		case o.Opens.After(at):
			at = o.Opens
		}
		if o.Closes.Sub(at) >= d {
			return true
		}
		at = o.Closes
	}
	return false
}
