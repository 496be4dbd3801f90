package page

import (
	"errors"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"flotilla/bus/gate"
	"flotilla/core/api"
	"flotilla/core/phrase"
)

// policy is what a browser may do with the page: what the page itself serves, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; worker-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// mostForm is the longest body of a form.
const mostForm = 64 << 10

// answerWithin is how long a browser may take to send a form and to receive an answer.
const answerWithin = 40 * time.Second

// guarded lets in what asks for this page by its own name, and what was sent from it where it changes something.
func (p *Page) guarded(next http.Handler) http.Handler {
	crossOrigin := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.headers(w.Header())
		switch {
		case !p.ours(r.Host):
			p.refuse(w, r, http.StatusMisdirectedRequest, "This hub does not serve a page as "+phrase.Quoted(r.Host)+".",
				"Its configuration lists the names that it serves under: page.hosts.")
			return
		case !reads(r) && (crossOrigin.Check(r) != nil || unsaid(r)):
			p.refuse(w, r, http.StatusForbidden, "This was not sent from a page of this hub.", "Open the page and do it from there.")
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, mostForm)
		if r.URL.Path != "/stream" {
			hurry(w, r)
		}
		next.ServeHTTP(w, r)
	})
}

// hurry bounds how long the connection of a request may be held.
func hurry(w http.ResponseWriter, r *http.Request) {
	control, until := http.NewResponseController(w), time.Now().Add(answerWithin) //nolint:forbidigo // connections go by the clock of the machine
	_ = control.SetWriteDeadline(until)
	if !reads(r) {
		_ = control.SetReadDeadline(until)
	}
}

func (p *Page) headers(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	if p.options.Secure {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
}

func reads(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// unsaid says that a request does not say from where it was sent, as every browser's does that changes something.
func unsaid(r *http.Request) bool {
	return r.Header.Get("Sec-Fetch-Site") == "" && r.Header.Get("Origin") == ""
}

// ours says that a Host is a name of this page; a name that somebody else pointed at its address is none.
func (p *Page) ours(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	name = strings.ToLower(strings.Trim(name, "[]"))
	return name == "localhost" || loopback(name) || slices.Contains(p.options.Hosts, name)
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// address is where a request comes from.
func address(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return ""
	}
	return host
}

// cookie is the name of the session's. Browsers keep one that is named __Host- for whom set it alone, over TLS; on loopback
// the hubs of one machine share a host, and are told apart by their port.
func (p *Page) cookie(r *http.Request) string {
	if p.options.Secure {
		return "__Host-flotilla"
	}
	_, port, _ := net.SplitHostPort(r.Host)
	return "flotilla-" + port
}

// secret is what the secrets of sessions look like: nobody is asked about another text.
var secret = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

// visitor is who asks. api.ErrNoEntry when nobody let them in.
func (p *Page) visitor(r *http.Request) (api.Person, error) {
	held, err := r.Cookie(p.cookie(r))
	if err == nil && secret.MatchString(held.Value) {
		if !reads(r) {
			p.sessions.Forget(held.Value) // who acts is asked for each time
		}
		person, err := p.sessions.Of(r.Context(), held.Value)
		if err == nil {
			gate.Belongs(r.Context(), person.Name)
		}
		if err == nil || !errors.Is(err, api.ErrNoEntry) || !p.guest(r) {
			return person, err
		}
	}
	if p.guest(r) {
		return api.Person{Name: "guest", Role: api.RoleViewer}, nil
	}
	return api.Person{}, api.ErrNoEntry
}

// guest says that somebody on this machine may look without a session; what a proxy passes on comes from elsewhere.
func (p *Page) guest(r *http.Request) bool {
	passed := r.Header.Get("Forwarded") + r.Header.Get("X-Forwarded-For") + r.Header.Get("Via")
	return p.options.Guest && loopback(address(r)) && passed == ""
}

// showEnter shows who follows a link a button that uses it up: whatever looks at links before people do uses up none.
func (p *Page) showEnter(w http.ResponseWriter, r *http.Request) {
	link := r.URL.Query().Get("link")
	p.plain(w, r, http.StatusOK, "enter", map[string]any{"Link": link, "Sends": link != "" && p.typed(r)})
}

// typed says that a person opened a link by hand, and not a page of somebody else's, what looks at links before people do, or
// somebody who is in already: those are asked.
func (p *Page) typed(r *http.Request) bool {
	_, err := r.Cookie(p.cookie(r))
	return r.Header.Get("Sec-Fetch-Site") == "none" && r.Header.Get("Sec-Purpose") == "" && err != nil
}

// enter begins a session with a link, and ends the one that the browser had.
func (p *Page) enter(w http.ResponseWriter, r *http.Request) {
	session, err := p.options.Door.Enter(r.Context(), r.PostFormValue("link"), address(r))
	if errors.Is(err, api.ErrNoEntry) {
		p.refuse(w, r, http.StatusForbidden, "This link opens nothing: it was used, or it ended.", "Type flotilla web for another one.")
		return
	}
	if err != nil {
		p.failed(w, r, err)
		return
	}
	if former, err := r.Cookie(p.cookie(r)); err == nil {
		_ = p.options.Door.Leave(r.Context(), former.Value) // it ends by itself where that fails
		p.sessions.Forget(former.Value)
	}
	http.SetCookie(w, &http.Cookie{
		Name: p.cookie(r), Value: session, Path: "/", HttpOnly: true, Secure: p.options.Secure, SameSite: http.SameSiteStrictMode,
		MaxAge: int((8 * time.Hour).Seconds()),
	})
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// leave ends the session.
func (p *Page) leave(w http.ResponseWriter, r *http.Request) {
	held, err := r.Cookie(p.cookie(r))
	if err == nil {
		err := p.options.Door.Leave(r.Context(), held.Value)
		p.sessions.Forget(held.Value)
		if err != nil && !errors.Is(err, api.ErrNoEntry) {
			p.failed(w, r, err)
			return
		}
	}
	http.SetCookie(w, &http.Cookie{Name: p.cookie(r), Path: "/", HttpOnly: true, Secure: p.options.Secure, SameSite: http.SameSiteStrictMode, MaxAge: -1})
	p.refuse(w, r, http.StatusOK, "You have left.", "Type flotilla web to come back.")
}

// local is a way back to where somebody came from, within this page; "/" where it leads elsewhere.
func local(back string) string {
	to, err := url.Parse(back)
	if err != nil || to.IsAbs() || to.Host != "" || !strings.HasPrefix(to.Path, "/") || strings.HasPrefix(to.Path, "//") {
		return "/"
	}
	return to.RequestURI()
}
