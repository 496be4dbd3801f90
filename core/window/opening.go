package window

import "time"

// Class orders members that wait for a slot.
type Class int

// The classes, first come first. Only members of class Open and None may start.
const (
	Open        Class = 1 // a window is open
	OpeningSoon Class = 2 // the next window opens within 4 hours
	None        Class = 3 // no schedule
	Closed      Class = 4 // a schedule, and its next window is further away or never comes
)

// String names the class for people: open, soon, none or closed.
func (c Class) String() string {
	switch c {
	case Open:
		return "open"
	case OpeningSoon:
		return "soon"
	case None:
		return "none"
	default:
		return "closed"
	}
}

// MayStart reports whether a member of this class may start now.
func (c Class) MayStart() bool { return c == Open || c == None }

// Opening is what a schedule says at an instant.
type Opening struct {
	Class Class
	// Opens and Closes bound the window that is open now, else the next one: occurrences united, less
	// the blackouts, touching parts merged. Opens is the true start even when it is long past. Closes
	// is zero when the window never closes; both are zero when none opens within 400 days.
	Opens, Closes time.Time
}

// At returns the class at an instant and the window that is open or comes next.
func (s *Schedule) At(now time.Time) Opening {
	o, k := s.next(now)
	if o.Class == Open {
		o.Opens = utc(s.back(o.Opens.Unix(), k))
	}
	return o
}

// Next is At without looking back: of an open window, Opens is where its current part began. It is
// what ordering needs, and the cheaper of the two.
func (s *Schedule) Next(now time.Time) Opening {
	o, _ := s.next(now)
	return o
}

// Opens tells an opening in UTC and on the clock of the schedule.
func (s *Schedule) Opens(at time.Time) string {
	if at.IsZero() {
		return "does not open within 400 days"
	}
	return "opens at " + at.Format(time.RFC3339) + s.Local(at).Format(" (Mon 15:04 MST)")
}

// next also returns the number of the occurrence that the window belongs to.
func (s *Schedule) next(now time.Time) (Opening, int) {
	if s == nil {
		return Opening{Class: None}, 0
	}
	at := now.Unix()
	piece, k, ok := s.piece(at)
	if !ok {
		return Opening{Class: Closed}, 0
	}
	o := Opening{Class: Closed, Opens: utc(piece.from)}
	switch {
	case piece.from <= at:
		o.Class = Open
	case piece.from-at <= Soon:
		o.Class = OpeningSoon
	}
	if end, closes := s.forward(piece.to, k, at); closes {
		o.Closes = utc(end)
	}
	return o, k
}

// Between returns the windows that are open at some time in [from, to), in order.
func (s *Schedule) Between(from, to time.Time) []Opening {
	var out []Opening
	for at := from; s != nil; {
		o := s.At(at)
		if o.Opens.IsZero() || !o.Opens.Before(to) {
			break
		}
		out = append(out, o)
		if o.Closes.IsZero() {
			break
		}
		at = o.Closes
	}
	return out
}

func utc(at int64) time.Time { return time.Unix(at, 0).UTC() }
