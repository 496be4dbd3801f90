package page_test

import (
	"context"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/tests/page/listen"
)

// follow opens a stream of screens as a guest.
func (h *listsHouse) follow(ats ...string) *listen.Stream {
	h.t.Helper()
	return listen.To(h.t, h.request(url.Values{"at": ats}))
}

func (h *listsHouse) request(query url.Values) *http.Request {
	h.t.Helper()
	request, err := http.NewRequestWithContext(bustest.Context(h.t), http.MethodGet, h.fleet.Hub.Page()+"/stream?"+query.Encode(), http.NoBody)
	require.NoError(h.t, err)
	return request
}

// A screen that cannot be drawn says so and why, holds up no other, and is tried again.
func (h *listsHouse) testFailed() {
	s := h.follow("/members/late", "/members?q=oslo")
	failed, before := s.Until("the screen of a member that there is not", listen.Is("failed"))
	require.Equal(h.t, []any{"/members/late", http.StatusNotFound}, []any{failed.At, failed.Code})
	require.Empty(h.t, before)
	s.Until("the other screen", listen.Shows("/members?q=oslo", `id="m-oslo"`))
	h.apply(fmt.Sprintf(strings.ReplaceAll(listedFar, "far-%03d", "%s"), "late", "edge"))
	_, before = s.Until("the member that came", listen.Shows("/members/late", "never heard of"))
	for _, e := range before {
		require.True(h.t, e.Kind != "failed" || e.At == "/members/late", "%+v", e)
		require.False(h.t, e.Kind == "alive" && e.Mark != "", "what is shown is not of that revision: %+v", e)
	}
}

// A browser is sent what it has not: nothing of what it came with, and all of it where it was cut off and cannot know.
func (h *listsHouse) testKnown() {
	const at = "/placements?q=no-such"
	parts := h.sums(at)
	require.Len(h.t, parts, 2)
	request := h.request(url.Values{"at": {at}, "have": parts})
	_, before := listen.To(h.t, request).Until("life", listen.Is("alive"))
	require.Empty(h.t, before)
	request.Header.Set("Last-Event-ID", "1.1")
	_, before = listen.To(h.t, request).Until("life", listen.Is("alive"))
	require.Len(h.t, before, 2)
	_, before = h.follow(at).Until("life", listen.Is("alive"))
	require.Len(h.t, before, 2)
	require.Equal(h.t, before[0].ID, before[1].ID)
	require.NotEmpty(h.t, before[0].ID)
}

// sums are those of the parts of a screen as it is loaded.
func (h *listsHouse) sums(at string) (all []string) {
	_, body := h.fetch(at)
	for _, part := range regexp.MustCompile(`<section id="[^"]*" data-sum="([^"]*)">`).FindAllStringSubmatch(body, -1) {
		all = append(all, html.UnescapeString(part[1]))
	}
	return all
}

// Of a fleet in which nothing changes the ages go on: its screens are drawn anew, at the same revision.
func (h *listsHouse) testQuiet() {
	const at = "/members/oslo"
	ready := regexp.MustCompile(`<strong>Ready</strong>, for (?:(\d+)m)?(?:(\d+)s)?`)
	age := func(e listen.Event) time.Duration {
		found := ready.FindStringSubmatch(e.Part.HTML)
		require.NotNil(h.t, found, e.Part.HTML)
		minutes, _ := strconv.Atoi(found[1])
		seconds, _ := strconv.Atoi(found[2])
		return time.Duration(minutes)*time.Minute + time.Duration(seconds)*time.Second
	}
	s := h.follow(at)
	last, _ := s.Until("the member", listen.Shows(at, "<strong>Ready</strong>"))
	s.Until("the same revision, later", func(e listen.Event) bool {
		if !listen.Shows(at, "<strong>Ready</strong>")(e) {
			return false
		}
		aged := e.ID == last.ID && age(e) > age(last)
		last = e
		return aged
	})
}

// reading is an answer whose reader takes its time: what is written waits until it is read.
type reading struct {
	*io.PipeWriter
	header http.Header
}

func (r *reading) Header() http.Header            { return r.header }
func (*reading) WriteHeader(int)                  {}
func (*reading) FlushError() error                { return nil }
func (*reading) SetWriteDeadline(time.Time) error { return nil }

// A browser that reads slowly is sent the newest state when it reads on, and no state between.
func (h *listsHouse) testSlow() {
	const at = "/members?q=name%3Dfar-007"
	ctx, cancel := context.WithCancel(bustest.Context(h.t))
	request := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/stream?at="+url.QueryEscape(at), http.NoBody)
	request.RemoteAddr = "127.0.0.1:9999"
	from, to := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		h.page.ServeHTTP(&reading{to, http.Header{}}, request)
		_ = to.Close()
	}()
	s := listen.Of(h.t, from)
	s.Until("the member", listen.Shows(at, "tier=core"))
	const changes = 8
	for i := range changes {
		h.apply(fmt.Sprintf(listedFar, 7, fmt.Sprintf("t%d", i)))
		h.eventually(at, fmt.Sprintf("tier=t%d", i)) // others see each
	}
	_, before := s.Until("the newest state", listen.Shows(at, fmt.Sprintf("tier=t%d", changes-1)))
	states := 0
	for _, e := range before {
		if listen.Shows(at, "<tr id=\"m-far-007\"")(e) {
			states++
		}
	}
	require.LessOrEqual(h.t, states, 1, "what was being written when it stopped to read, and nothing else")
	cancel()
	require.NoError(h.t, from.Close())
	bustest.Within(h.t, ended, "the end of the stream")
}
