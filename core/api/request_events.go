package api

import (
	"cmp"
	"slices"
)

// DefaultEvents is how many events are shown of whoever does not say how many.
const DefaultEvents = 200

// EventsRequest reads the audit stream, newest last.
type EventsRequest struct {
	Object string `json:"object,omitempty"` // "placement/web"; empty: all
	Member string `json:"member,omitempty"`
	Limit  int    `json:"limit,omitempty"` // 0: DefaultEvents; one answer has 600 at most
	// By is who caused them, a room or a person; empty: anybody.
	By string `json:"by,omitempty"`
	// Before is EventsResponse.Older of the answer before; 0: the newest.
	Before uint64 `json:"before,omitempty"`
}

// EventsResponse holds events, oldest first: one page of them. A hub looks at a part of the audit stream for one answer,
// so that fewer events than were asked for, or none, do not say that there are no older ones: Older says it.
type EventsResponse struct {
	Events []Audit `json:"events"`
	// Older is where those before them begin to be looked for; 0: there are none.
	Older uint64 `json:"older,omitempty"`
}

// FirstAct begins the positions of EventsResponse.Older in stream ACTS, which are older than all of stream AUDIT. A number in JSON has
// that many exactly, whatever reads it.
const FirstAct = 1 << 52

// goesBack says that a position is older than another.
func goesBack(from, to uint64) bool {
	if (from >= FirstAct) != (to >= FirstAct) {
		return to >= FirstAct
	}
	return to < from
}

// All asks for page after page until there are r.Limit events or no older ones, and returns them oldest first. It ends at
// the first error of ask, and where a hub does not say where older ones begin, or no further back than before.
func (r EventsRequest) All(ask func(*EventsRequest) (*EventsResponse, error)) ([]Audit, error) {
	r.Limit = cmp.Or(r.Limit, DefaultEvents)
	var pages [][]Audit
	for more := true; more; {
		page, err := ask(&r)
		if err != nil {
			return nil, err
		}
		stands := page.Older != 0 && r.Before != 0 && !goesBack(r.Before, page.Older)
		if stands { // a hub of before, which does not know the position, has answered with the newest
			break
		}
		pages = append(pages, page.Events)
		r.Limit -= len(page.Events)
		more = r.Limit > 0 && page.Older != 0
		r.Before = page.Older
	}
	slices.Reverse(pages)
	return slices.Concat(pages...), nil
}
