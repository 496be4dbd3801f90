package page

import (
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"

	"flotilla/core/api"
	"flotilla/core/deed"
)

// actTries is how often something is done again that was decided on while nothing of it changed.
const actTries = 3

// act is one look of a person at a deed.
type act struct {
	*visit
	*deed.Deed
	Fault *api.Failure
	carry func() (deed.Outcome, error)
}

// Ready says that it can be agreed to.
func (d *act) Ready() bool { return d.carry != nil }

// As is who agrees.
func (d *act) As() string { return d.person.Name + " (" + string(d.person.Role) + ")" }

// Request is a new id, under which the door does it once.
func (d *act) Request() string { return rand.Text() }

// Back is the way to where somebody came from.
func (d *act) Back() string { return local(d.Said("back")) }

// act reads what is asked of which action, and of what.
func (p *Page) act(r *http.Request, asked url.Values) (*act, error) {
	v, err := p.visit(r)
	if err != nil {
		return nil, err
	}
	v.caller.Role = v.person.Role
	d, err := deed.New(r.PathValue("action"), asked)
	return &act{visit: v, Deed: d}, err
}

// confirm shows what an action would do. It changes nothing.
func (p *Page) confirm(w http.ResponseWriter, r *http.Request) {
	if r.Context().Value(collected{}) != nil {
		return // what somebody reads before they agree stays as they read it
	}
	d, err := p.act(r, r.URL.Query())
	if err != nil {
		p.failed(w, r, err)
		return
	}
	p.showAct(w, r, d, d.behold())
}

// behold looks at what would come of it.
func (d *act) behold() error {
	if !d.person.Role.Covers(d.Needs()) {
		return api.Forbidden(d.caller, d.Needs(), "flotilla "+d.Words)
	}
	d.Look, d.carry = deed.Look{}, nil
	return looks[d.Verb](d)
}

// showAct shows what would come of it, or why it is not done.
func (p *Page) showAct(w http.ResponseWriter, r *http.Request, d *act, err error) {
	code := http.StatusOK
	if err != nil {
		failure, is := errors.AsType[*api.Failure](err)
		if !is {
			failure = &api.Failure{Code: api.CodeUnavailable, Message: err.Error()}
		}
		d.Fault, code = failure, statusOf(failure)
	}
	p.single(w, r, code, d.visit, d.Label(), part{"do", "do", d})
}

// do has an action done that was agreed to on its page.
func (p *Page) do(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		p.refuse(w, r, http.StatusBadRequest, "This form cannot be read: "+err.Error()+".", "Open the page and do it from there.")
		return
	}
	d, err := p.act(r, r.PostForm)
	if err != nil {
		p.failed(w, r, err)
		return
	}
	if !d.person.Role.Covers(d.Needs()) {
		p.showAct(w, r, d, d.behold())
		return
	}
	request := d.Said("request")
	if api.CheckRequestID(request) != nil || d.Said("seen") == "" {
		p.refuse(w, r, http.StatusBadRequest, "This was not sent from the page that shows what it does.", "Open that page, look, and do it from there.")
		return
	}
	place := p.deeds.of(d.person.Name + " " + request)
	place.mu.Lock()
	defer place.mu.Unlock()
	if place.done == nil {
		d.caller.Request = request
		came, err := d.agreed()
		if err != nil {
			p.showAct(w, r, d, err)
			return
		}
		place.done = &outcome{came, d.Object, d.Command, d.Back()}
	}
	http.Redirect(w, r, link("/done/"+url.PathEscape(request), url.Values{}), http.StatusSeeOther)
}

// agreed has it done if all is as it was when somebody looked. What is changed between that and the request is looked at again.
func (d *act) agreed() (came deed.Outcome, err error) {
	for range actTries {
		if err = d.behold(); err != nil {
			return came, err
		}
		if err = d.Agreed(d.As()); err != nil {
			return came, err
		}
		came, err = d.carry()
		failure, is := errors.AsType[*api.Failure](err)
		if !is || failure.Code != api.CodeConflict && failure.Code != api.CodePrecondition {
			return came, err
		}
	}
	return came, err
}
