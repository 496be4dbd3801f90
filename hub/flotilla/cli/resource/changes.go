package resource

import (
	"context"
	"errors"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/hub/flotilla/cli/session"
)

const (
	// watchWait is for how long the hub is asked to wait for a change: what is shown may change with time alone.
	watchWait = 8 * time.Second
	// watchPace is how soon what was just looked at is looked at again.
	watchPace = time.Second
	// hurriedWait is watchWait of who looks at something that goes on.
	hurriedWait = 2 * time.Second
	// watchAlone is how often is looked where the hub keeps nobody waiting any more.
	watchAlone = 5 * time.Second
)

// Changes are those of what a command watches: the hub says when to look again.
type Changes struct {
	client  *Client
	request api.WatchRequest
	pace    time.Duration
	looked  time.Time
}

// ChangesOf begins to watch kinds of objects: what changes after it returned is told. It comes before the first look.
func (a *Client) ChangesOf(ctx context.Context, kinds ...api.WatchedKind) (*Changes, error) {
	return a.Watching(ctx, api.WatchRequest{Kinds: kinds})
}

// WatchedKinds are those of what arguments name.
func (a *Client) WatchedKinds(t *Target, s Selection) []api.WatchedKind {
	var watched []api.WatchedKind
	add := func(k *Type) {
		if w := (api.WatchedKind{APIVersion: k.APIVersion, Kind: k.Kind}); !slices.Contains(watched, w) {
			watched = append(watched, w)
		}
	}
	for i := range t.Refs {
		add(&t.Refs[i].Type)
	}
	for _, k := range t.withPlacements(a.Namespace, s) {
		add(&k)
	}
	return watched
}

// Watching begins to watch what a request names.
func (a *Client) Watching(ctx context.Context, request api.WatchRequest) (*Changes, error) {
	request.Wait = metav1.Duration{Duration: min(watchWait, a.Connection.Timeout/2)}
	c := &Changes{client: a, request: request, pace: watchPace}
	return c, c.ask(ctx)
}

func (c *Changes) ask(ctx context.Context) error {
	var answer api.WatchResponse
	err := c.client.Ask(ctx, api.VerbWatch, &c.request, &answer)
	if err == nil {
		c.request.After, c.looked = answer.Mark, c.client.Now()
	}
	return err
}

// Hurry looks again sooner.
func (c *Changes) Hurry() {
	c.pace = session.PollInterval
	c.request.Wait.Duration = min(c.request.Wait.Duration, hurriedWait)
}

// NextWhile is next, with something done now and then meanwhile.
func (c *Changes) NextWhile(ctx context.Context, tick func()) (more bool, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		more, err = c.Next(ctx)
	}()
	ticker := time.NewTicker(session.PollInterval)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return more, err
		case <-ticker.C:
			tick()
		}
	}
}

// Next returns when there may be something new, and false once the command was interrupted or timed out.
func (c *Changes) Next(ctx context.Context) (bool, error) {
	if rest := c.pace - c.client.Now().Sub(c.looked); rest > 0 && !session.Pause(ctx, min(rest, c.pace)) {
		return false, nil
	}
	err := c.ask(ctx)
	if failure := (*api.Failure)(nil); errors.As(err, &failure) && failure.Code == api.CodeLimit {
		c.client.NoteOnce(failure.Message + "; looking every 5 s instead")
		return session.Pause(ctx, watchAlone), nil
	}
	if ctx.Err() != nil {
		return false, nil
	}
	return err == nil, err
}
