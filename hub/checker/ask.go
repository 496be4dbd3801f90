package checker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	"flotilla/core/check"
	"flotilla/hub/outside"
)

// maxAnswer is how much of an answer is read, maxOutput of what a command says.
const (
	maxAnswer = 1 << 20
	maxOutput = 4 << 10
	maxBody   = 64 << 10
)

// shownMembers is how many members a document lists.
const shownMembers = 100

// asked is the document that webhooks and commands are given.
type asked struct {
	Fleet     string            `json:"fleet"`
	Placement string            `json:"placement"`
	Snapshot  int64             `json:"snapshot"`
	Members   []string          `json:"members"`
	Total     int               `json:"memberCount"`
	Check     string            `json:"check"`
	Arguments map[string]string `json:"arguments,omitempty"`
}

// verdict is what an answer comes to. Unasked says that nobody was asked, because the configuration has nobody of that name.
type verdict struct {
	passed, unasked bool
	message         string
}

// ask asks one question. It is false when ctx ended before there was an answer.
func (e *Endpoints) ask(ctx context.Context, doc asked, q *check.Question) (verdict, bool) {
	c := &q.Check
	doc.Snapshot, doc.Check, doc.Total = q.Snapshot, c.Name, len(q.Members)
	doc.Members = q.Members[:min(len(q.Members), shownMembers)]
	switch {
	case c.Prometheus != nil:
		at := e.prometheus[c.Prometheus.Server]
		if at == nil {
			return missing("checks.prometheus", c.Prometheus.Server)
		}
		return at.inTurn(ctx, q.Timeout, func(ctx context.Context) verdict { return at.query(ctx, c.Prometheus) })
	case c.Webhook != nil:
		at := e.webhooks[c.Webhook.Webhook]
		if at == nil {
			return missing("checks.webhooks", c.Webhook.Webhook)
		}
		doc.Arguments = c.Webhook.Arguments
		return at.inTurn(ctx, q.Timeout, func(ctx context.Context) verdict { return at.call(ctx, &doc) })
	default:
		at := e.commands[c.Command.Command]
		if at == nil {
			return missing("checks.commands", c.Command.Command)
		}
		doc.Arguments = c.Command.Arguments
		return at.inTurn(ctx, q.Timeout, func(ctx context.Context) verdict { return at.run(ctx, &doc) })
	}
}

func missing(list, name string) (verdict, bool) {
	return verdict{unasked: true, message: fmt.Sprintf("the configuration of the hub has no %s named %s", list, name)}, true
}

// inTurn asks once it is the turn, and waits for the answer for so long; false when ctx ended.
func (s *source) inTurn(ctx context.Context, timeout time.Duration, ask func(context.Context) verdict) (verdict, bool) {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return verdict{}, false
	}
	defer func() { <-s.turn }()
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	v := ask(limited)
	switch {
	case ctx.Err() != nil:
		return verdict{}, false
	case limited.Err() != nil && !v.passed:
		v.message = fmt.Sprintf("no answer within %s", timeout)
	}
	v.message = s.hide(v.message)
	return v, true
}

func failed(format string, args ...any) verdict {
	return verdict{message: fmt.Sprintf(format, args...)}
}

// post posts and reads the answer: what is no success, or too long, is a failure.
func (e *endpoint) post(ctx context.Context, to, contentType string, body []byte, most int64) ([]byte, *verdict) {
	answer, err := e.client.Post(ctx, &outside.Post{URL: to, ContentType: contentType, Headers: e.headers, Body: body, Most: most})
	var wrong verdict
	switch {
	case err != nil:
		wrong = failed("asking %s: %v", e.host, err)
	case !answer.OK():
		wrong = failed("%s answers %s: %s", e.host, answer.Status, answer.Body)
	case answer.Cut:
		wrong = failed("%s answers more than %d KiB", e.host, most>>10)
	default:
		return answer.Body, nil
	}
	return nil, &wrong
}

// call posts to a webhook, which has to say that the check passes.
func (e *endpoint) call(ctx context.Context, doc *asked) verdict {
	text, err := json.Marshal(doc)
	if err != nil {
		return failed("encoding what is asked: %v", err)
	}
	body, wrong := e.post(ctx, e.url, "application/json", text, maxBody)
	if wrong != nil {
		return *wrong
	}
	var said struct {
		Pass    *bool  `json:"pass"`
		Message string `json:"message"`
	}
	if err := json.Unmarshal(body, &said); err != nil || said.Pass == nil {
		return failed(`%s answers %q, expected {"pass": true} or {"pass": false, "message": "…"}`, e.host, body[:min(len(body), shownBytes)])
	}
	return verdict{passed: *said.Pass, message: said.Message}
}

// run runs a command, which has to end with 0.
func (p *program) run(ctx context.Context, doc *asked) verdict {
	text, err := json.Marshal(doc)
	if err != nil {
		return failed("encoding what is asked: %v", err)
	}
	command := outside.Program{Argv: p.argv, Environment: p.environment, Input: append(text, '\n'), Most: maxOutput}
	said, err := command.Run(ctx)
	switch {
	case err == nil:
		return verdict{passed: true, message: said}
	case errors.Is(err, context.DeadlineExceeded):
		return failed("no answer")
	case said == "":
		return failed("%v", err)
	}
	return failed("%v: %s", err, said)
}

// under is an address below that of a server of Prometheus.
func under(base, path string) (string, error) {
	at, err := url.Parse(base)
	if err != nil {
		return "", errors.New("the address of the server cannot be read")
	}
	return at.JoinPath(path).String(), nil
}
