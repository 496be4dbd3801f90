package page

import (
	"net/http"
	"sync"

	"flotilla/core/deed"
)

// outcome is what came of a deed, as its page tells it.
type outcome struct {
	deed.Outcome
	Object, Command, Back string
}

// deeds keeps what was done of late, so that what is sent twice is done once and answered twice.
type deeds struct {
	mu   sync.Mutex
	kept map[string]*doing
}

// doing is the place of one deed; whoever holds it does it.
type doing struct {
	mu   sync.Mutex
	done *outcome
}

// of is the place of a request; when there are too many all are forgotten, and the door still knows its requests.
func (d *deeds) of(request string) *doing {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.kept[request] == nil {
		if len(d.kept) >= mostKept || d.kept == nil {
			d.kept = map[string]*doing{}
		}
		d.kept[request] = &doing{}
	}
	return d.kept[request]
}

// did is what was done, nil where this hub does not know.
func (d *deeds) did(request string) *outcome {
	d.mu.Lock()
	place := d.kept[request]
	d.mu.Unlock()
	if place == nil {
		return nil
	}
	place.mu.Lock()
	defer place.mu.Unlock()
	return place.done
}

// showDone tells whoever had something done what came of it.
func (p *Page) showDone(w http.ResponseWriter, r *http.Request) {
	if r.Context().Value(collected{}) != nil {
		return
	}
	v, err := p.visit(r)
	if err != nil {
		p.failed(w, r, err)
		return
	}
	done := p.deeds.did(v.person.Name + " " + v.path("request"))
	if done == nil {
		p.refuse(w, r, http.StatusNotFound, "This hub does not know what came of that.", "What was done in your name is at /activity?mine=1.")
		return
	}
	p.single(w, r, http.StatusOK, v, "Done", part{"done", "done", done})
}

// single serves a page of one part, which is not kept up.
func (p *Page) single(w http.ResponseWriter, r *http.Request, code int, v *visit, title string, only part) {
	html, err := p.drawn.render(v, only)
	if err != nil {
		p.failed(w, r, err)
		return
	}
	shown := &rendering{drawing: &drawing{Title: title}, parts: []rendered{html}, turn: v.fleet.turn, at: v.now()}
	p.whole(w, r, code, v, &screen{Home: activityScreen.Home}, shown)
}
