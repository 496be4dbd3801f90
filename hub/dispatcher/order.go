package dispatcher

import "flotilla/core/api"

// following is the order of the next command under a term: after the last one that was sent and after
// the one the agent holds, which is newer than both only when the hub's data was restored.
func following(term api.Term, last, held api.Order) api.Order {
	latest := newest(last, held)
	first := api.Order{Epoch: term.Epoch, Term: term.Term, Generation: 1}
	if first.Compare(latest) > 0 {
		return first
	}
	latest.Generation++
	return latest
}
