package kube

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"sync"
	"time"
)

// Permission is something that an agent asked for and may not do.
type Permission struct {
	Verb, Group, Resource string
	// Namespace is empty where it is asked for in all of the cluster.
	Namespace string
}

// String is "list deployments.apps in namespace shop".
func (p Permission) String() string {
	text := p.Verb + " " + p.Resource
	if p.Group != "" {
		text += "." + p.Group
	}
	if p.Namespace == "" {
		return text + " in the whole cluster"
	}
	return text + " in namespace " + p.Namespace
}

const (
	// remembered is for how long a permission counts as missing after it was refused last.
	remembered = 30 * time.Minute
	// mostRefusals bounds how many are known at once.
	mostRefusals = 100
	// answerRead is how much of an answer is searched.
	answerRead = 4096
)

// refusals hear of each permission that the API server refuses, in whatever part of the agent it is asked for.
type refusals struct {
	told func(Permission)

	mu   sync.Mutex
	last map[Permission]*time.Timer
}

func newRefusals(told func(Permission)) *refusals {
	if told == nil {
		told = func(Permission) {}
	}
	return &refusals{told: told, last: map[Permission]*time.Timer{}}
}

// refusal is how an API server says that roles do not allow a request, unlike a quota or an admission policy.
var refusal = regexp.MustCompile(
	`cannot ([a-z*]+) resource \\?"([^"\\]+)\\?" in API group \\?"([^"\\]*)\\?" (?:at the cluster scope|in the namespace \\?"([^"\\]+)\\?")`)

// listen hears the answers of a transport.
func (r *refusals) listen(next http.RoundTripper) http.RoundTripper {
	return listener{next, r}
}

type listener struct {
	next http.RoundTripper
	to   *refusals
}

func (l listener) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := l.next.RoundTrip(request)
	if err != nil || response.StatusCode != http.StatusForbidden {
		return response, err
	}
	begun, read := io.ReadAll(io.LimitReader(response.Body, answerRead))
	rest := response.Body
	response.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(begun), failing{read}, rest), rest}
	if m := refusal.FindSubmatch(begun); m != nil {
		l.to.hear(Permission{Verb: string(m[1]), Resource: string(m[2]), Group: string(m[3]), Namespace: string(m[4])})
	}
	return response, nil
}

// failing is the end of what was read, or why it could not be read on.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	return 0, io.EOF
}

func (r *refusals) hear(p Permission) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.last[p]; known != nil {
		known.Reset(remembered)
		return
	}
	if len(r.last) >= mostRefusals {
		return
	}
	r.last[p] = time.AfterFunc(remembered, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.last, p)
	})
	r.told(p)
}

// Refused lists, sorted, what the API server refused of late, as "list deployments.apps in namespace shop".
func (t *Target) Refused() []string {
	t.refusals.mu.Lock()
	defer t.refusals.mu.Unlock()
	var texts []string
	for _, p := range slices.Collect(maps.Keys(t.refusals.last)) {
		texts = append(texts, p.String())
	}
	slices.Sort(texts)
	return texts
}

// close ends what waits.
func (r *refusals) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, waiting := range r.last {
		waiting.Stop()
	}
}
