package door

import "sync"

// remembered is how many answers are kept for repeats of their requests.
const remembered = 4096

// answers holds the newest answers by request id. A new leader starts with none; it recognises its
// predecessor's writes by the id in the records.
type answers struct {
	mu    sync.Mutex
	byID  map[string]any
	order []string
}

func newAnswers() *answers { return &answers{byID: map[string]any{}} }

func (a *answers) get(id string) (any, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	answer, found := a.byID[id]
	return answer, found
}

// keep remembers the answer to id; an empty id is not remembered.
func (a *answers) keep(id string, answer any) {
	if id == "" {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.byID[id] = answer
	a.order = append(a.order, id)
	if len(a.order) > remembered {
		delete(a.byID, a.order[0])
		a.order = a.order[1:]
	}
}
