package page

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"flotilla/core/api"
)

const (
	// aliveEvery is how often a stream says that it is there, so that a browser knows within two seconds that it is not.
	aliveEvery = time.Second
	// mostScreens is how many screens one stream keeps up.
	mostScreens = 16
	// mostStreams is how many streams there are at once, mostOfOne how many one person has.
	mostStreams, mostOfOne = 1024, 32
	// longestLook is how long the URL of a screen may be.
	longestLook = 2048
	// paceOf is how many bytes a second a stream sends at most in the long run.
	paceOf = 5 << 10
	// retryAfter is how long a browser waits before it opens a stream again that was cut.
	retryAfter = time.Second
	// writeWithin bounds how long a browser may take to receive something.
	writeWithin = 10 * time.Second
)

// streaming is one stream of a browser: the screens that its tabs show, each with what it was sent of them last.
type streaming struct {
	page    *Page
	request *http.Request
	out     io.Writer
	flush   func() error
	allow   func() error // gives the browser time to receive the next
	sent    int          // bytes that are not made up for by time yet
	sums    map[string]map[string]string
	have    map[string]bool // sums of parts that the browser came with
	told    time.Time       // when the browser was told last that the stream is there
}

// stream sends a browser what changes on the screens that it names. A slow one is sent the newest state of them, never a
// queue of older ones.
func (p *Page) stream(w http.ResponseWriter, r *http.Request) {
	ats := r.URL.Query()["at"]
	if len(ats) == 0 || len(ats) > mostScreens {
		p.refuse(w, r, http.StatusBadRequest, fmt.Sprintf("A stream of %d screens: expected 1 to %d.", len(ats), mostScreens), "Close some tabs.")
		return
	}
	person, err := p.visitor(r)
	if err != nil {
		p.failed(w, r, err)
		return
	}
	leave, room := p.crowd.enter(person.Name)
	if !room {
		p.refuse(w, r, http.StatusTooManyRequests, fmt.Sprintf("There are %d streams of yours, or %d of everybody, already.", mostOfOne, mostStreams), "Close some browsers.")
		return
	}
	defer leave()
	s := &streaming{page: p, request: r, sums: map[string]map[string]string{}, have: came(r), told: p.options.Now()}
	s.open(w, strings.Contains(r.Header.Get("Accept-Encoding"), "gzip"))
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(p.ctx, cancel)()
	s.request = r.WithContext(ctx)
	s.run(ctx, ats)
}

// came are the sums of what a browser shows already; one that was cut off does not know what it missed.
func came(r *http.Request) map[string]bool {
	have := map[string]bool{}
	if r.Header.Get("Last-Event-ID") == "" {
		for _, sum := range r.URL.Query()["have"] {
			have[sum] = true
		}
	}
	return have
}

// open begins the answer.
func (s *streaming) open(w http.ResponseWriter, packs bool) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	s.out, s.flush = w, control.Flush
	if packs {
		h.Set("Content-Encoding", "gzip")
		squeezed := gzip.NewWriter(w)
		s.out, s.flush = squeezed, func() error {
			if err := squeezed.Flush(); err != nil {
				return err
			}
			return control.Flush()
		}
	}
	s.allow = func() error { return control.SetWriteDeadline(time.Now().Add(writeWithin)) } //nolint:forbidigo // connections go by the clock of the machine
}

// run sends news until somebody who looks may do so no more, or the browser is gone.
func (s *streaming) run(ctx context.Context, ats []string) {
	alive := time.NewTicker(aliveEvery)
	defer alive.Stop()
	_, _ = fmt.Fprintf(s.out, "retry: %d\n", retryAfter.Milliseconds())
	var last uint64
	for {
		seen, changed := s.page.survey.look()
		_, err := s.page.visitor(s.request)
		switch {
		case errors.Is(err, api.ErrNoEntry):
			_ = s.send("ended", "", map[string]string{"why": "the session has ended"})
			return
		case err != nil: // nobody knows whether the session holds: what is shown stays, and is as old as it is
			err = s.send("alive", "", map[string]any{"stale": err.Error()})
		case seen != nil && seen.turn != last:
			var whole bool
			if whole, err = s.news(seen, ats); whole {
				last = seen.turn
			}
		default:
			err = s.alive(seen, true)
		}
		if err != nil || !s.rest(ctx, changed, alive.C) {
			return
		}
	}
}

// rest waits for the next change, or until it is time to say that the stream is there.
func (s *streaming) rest(ctx context.Context, changed <-chan struct{}, alive <-chan time.Time) bool {
	if s.sent > paceOf/2 { // more than half a second's worth: what changes meanwhile is sent once
		changed, s.sent = nil, max(0, s.sent-paceOf)
	}
	select {
	case <-ctx.Done():
		return false
	case <-changed:
	case <-alive:
	}
	return true
}

// news sends the parts of all screens that are not as they were sent last. It is not whole where a screen could not be drawn;
// then the browser is told why, and the screen is tried again.
func (s *streaming) news(seen *sight, ats []string) (whole bool, err error) {
	whole = true
	for _, at := range ats {
		if s.page.options.Now().Sub(s.told) > aliveEvery { // screens that take long to draw
			if err := s.alive(seen, false); err != nil {
				return false, err
			}
		}
		parts, code := s.parts(at)
		if code != http.StatusOK {
			whole = false
			if err := s.send("failed", "", map[string]any{"at": at, "code": code}); err != nil {
				return false, err
			}
			continue
		}
		for _, part := range parts {
			if err := s.one(seen, at, part); err != nil {
				return false, err
			}
		}
	}
	return whole, s.alive(seen, whole)
}

// one sends a part, unless the browser has it.
func (s *streaming) one(seen *sight, at string, part rendered) error {
	if s.sums[at] == nil {
		s.sums[at] = map[string]string{}
	}
	known := s.sums[at][part.ID] == part.Sum || s.sums[at][part.ID] == "" && s.have[part.Sum]
	if s.sums[at][part.ID] = part.Sum; known {
		return nil
	}
	return s.send("part", seen.Mark, map[string]any{"at": at, "part": part})
}

// parts are those of a screen now, and the code of an answer that has them.
func (s *streaming) parts(at string) ([]rendered, int) {
	to, err := url.Parse(at)
	if err != nil || to.IsAbs() || to.Host != "" || !strings.HasPrefix(to.Path, "/") || len(at) > longestLook {
		return nil, http.StatusBadRequest
	}
	var parts []rendered
	asked := s.request.Clone(context.WithValue(s.request.Context(), collected{}, &parts))
	asked.URL, asked.Method = to, http.MethodGet
	answer := &unread{code: http.StatusOK}
	s.page.looks.ServeHTTP(answer, asked)
	return parts, answer.code
}

// unread is the answer to who wants the parts of a screen alone.
type unread struct{ code int }

func (*unread) Header() http.Header         { return http.Header{} }
func (*unread) Write(b []byte) (int, error) { return len(b), nil }
func (u *unread) WriteHeader(code int)      { u.code = code }

// alive says that the stream is there, as of when the fleet is shown where that is old, and its mark once all screens are of it.
func (s *streaming) alive(seen *sight, whole bool) error {
	s.told = s.page.options.Now()
	told := map[string]any{}
	if seen != nil && whole {
		told["mark"] = seen.Mark
	}
	if seen != nil && seen.Stale != "" {
		told["stale"], told["since"] = seen.Stale, seen.At
	}
	return s.send("alive", "", told)
}

func (s *streaming) send(event, id string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if id != "" {
		id = "id: " + id + "\n"
	}
	if err := s.allow(); err != nil {
		return err
	}
	n, err := fmt.Fprintf(s.out, "%sevent: %s\ndata: %s\n\n", id, event, text)
	s.sent += n / 6 // about what is left of HTML when it is packed
	if err != nil {
		return err
	}
	return s.flush()
}
