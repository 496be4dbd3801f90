package browser

import (
	"cmp"
	"fmt"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
)

// heard is what a tab's browser told meanwhile, from several goroutines.
type heard struct {
	sync.Mutex
	findings []Finding
	requests map[network.RequestID]*request // of the document that is open
	world    string                         // that the tools are for, of the document that is open; empty before it is made
	equipped string                         // the world that they were put into last
}

type request struct {
	url   string
	bytes int // that came, with headers
}

func newHeard() *heard { return &heard{requests: map[network.RequestID]*request{}} }

// Console gives what the browser complained of since the tab opened, oldest first: errors that the page logs, exceptions that
// nobody caught, what the Content-Security-Policy refused, and requests that failed. Scripts that Look blocks are none of them.
// What workers do is not heard.
func Console(tab *Tab) []Finding {
	tab.t.Helper()
	Eval[bool](tab, "true") // by then all that came before it has been heard
	tab.heard.Lock()
	defer tab.heard.Unlock()
	return append([]Finding(nil), tab.heard.findings...)
}

func (h *heard) hear(event any) {
	h.Lock()
	defer h.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		h.find("exception", e.ExceptionDetails.URL, thrown(e.ExceptionDetails))
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeAssert {
			h.find("console", "", said(e.Args))
		}
	case *log.EventEntryAdded:
		h.logged(e.Entry)
	case *runtime.EventExecutionContextCreated:
		if e.Context.Name == worldName {
			h.world = e.Context.UniqueID
		}
	case *runtime.EventExecutionContextDestroyed:
		if e.ExecutionContextUniqueID == h.world {
			h.world = ""
		}
	case *runtime.EventExecutionContextsCleared:
		h.world = ""
	default:
		h.requested(event)
	}
}

// worldOfTools is the world that the tools are for in the document that is open, empty before it is made, and whether they are
// in it.
func (h *heard) worldOfTools() (world string, equipped bool) {
	h.Lock()
	defer h.Unlock()
	return h.world, h.world != "" && h.world == h.equipped
}

// equip notes that the tools are in a world.
func (h *heard) equip(world string) {
	h.Lock()
	defer h.Unlock()
	h.equipped = world
}

func (h *heard) find(rule, target, why string) {
	h.findings = append(h.findings, Finding{Rule: rule, Target: target, Why: why})
}

func (h *heard) logged(e *log.Entry) {
	switch {
	case e.Level != log.EntryLevelError, e.Source == log.EntrySourceNetwork: // requests are told by themselves
	case strings.Contains(e.Text, "Content Security Policy"):
		h.find("csp", e.URL, e.Text)
	default:
		h.find("console", e.URL, e.Text)
	}
}

func (h *heard) requested(event any) {
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if e.Type == network.ResourceTypeDocument && e.RedirectResponse == nil {
			clear(h.requests)
		}
		h.requests[e.RequestID] = &request{url: e.Request.URL}
	case *network.EventResponseReceived:
		if e.Response.Status >= 400 {
			h.find("request", e.Response.URL, fmt.Sprintf("found status %d, expected one below 400", e.Response.Status))
		}
	case *network.EventLoadingFailed:
		h.failed(e)
	case *network.EventLoadingFinished:
		if r := h.requests[e.RequestID]; r != nil {
			r.bytes = int(e.EncodedDataLength)
		}
	}
}

// failed tells of a request that nobody gave up and nobody blocked: the Look has, or the Content-Security-Policy, which says so itself.
func (h *heard) failed(e *network.EventLoadingFailed) {
	if e.Canceled || e.BlockedReason != "" || e.ErrorText == "net::ERR_BLOCKED_BY_CLIENT" {
		return
	}
	if r := h.requests[e.RequestID]; r != nil {
		h.find("request", r.url, e.ErrorText)
	}
}

func thrown(e *runtime.ExceptionDetails) string {
	if e.Exception != nil && e.Exception.Description != "" {
		return e.Text + " " + e.Exception.Description
	}
	return e.Text
}

func said(args []*runtime.RemoteObject) string {
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = cmp.Or(arg.Description, strings.Trim(string(arg.Value), `"`))
	}
	return strings.Join(words, " ")
}
