package simulate

import "flotilla/core/cluster"

// nowhere are what pods of one run asked for that found no place: others that ask for the same find none either, as
// room on nodes only gets less. A new node is room: what was found before it opened counts no more.
type nowhere map[asked]unplaced

// asked is all that decides where a pod may go which others restrict in nothing.
type asked struct {
	variant *Variant
	amounts [cluster.BaseResources]int64
	more    [2]int64 // another resource, by one more than its number, and how much of it
	leaves  bool     // it leaves a node, and goes to none that is not quiet yet
}

type unplaced struct {
	claims int
	why    string
}

// askedBy is what a pod asks for; false where more than that decides where it may go.
func askedBy(m *Moving) (asked, bool) {
	if len(m.State.Ports)+len(m.State.Volumes)+len(m.Links.Avoids) > 0 || len(m.Requests.More) > 1 {
		return asked{}, false
	}
	for v := m.Links.Variant; v != nil; v = v.Softer {
		if len(v.own) > 0 {
			return asked{}, false
		}
	}
	var more [2]int64
	for _, other := range m.Requests.More {
		more = [2]int64{int64(other.Index) + 1, other.Amount}
	}
	return asked{m.Links.Variant, m.Requests.Base, more, m.From != nil && !m.From.Deleting}, true
}

// of is why a pod finds no place, as one before it found none; "" where nobody knows.
func (l nowhere) of(m *Moving, claims int) string {
	if len(l) == 0 {
		return ""
	}
	if ask, alike := askedBy(m); alike && l[ask].claims == claims {
		return l[ask].why
	}
	return ""
}

// foundNone remembers that a pod found no place.
func (r *Run) foundNone(m *Moving, why string) {
	ask, alike := askedBy(m)
	if !alike {
		return
	}
	if r.nowhere == nil {
		r.nowhere = nowhere{}
	}
	r.nowhere[ask] = unplaced{len(r.Out.Claims), why}
}
