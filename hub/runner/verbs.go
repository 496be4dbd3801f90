package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/core/stage"
	"flotilla/core/staged"
	"flotilla/core/upgrade"
)

const (
	// tries bounds how often an operation is decided again after the records changed under it.
	tries = 3
	// maxRequests is how many request ids a run remembers.
	maxRequests = 16
)

// Verbs are the operations on runs, for the door's service. Each answers with an api.RunResponse; a
// refusal is an *api.Failure, its message beginning with the code of core/api.
func (r *Runner) Verbs() map[string]bus.Handler {
	verbs := map[string]bus.Handler{api.VerbRunGenerate: r.handler(r.generate)}
	for _, verb := range []string{api.VerbRunStart, api.VerbRunStop, api.VerbRunSkip, api.VerbRunApprove, api.VerbRunRerun} {
		verbs[verb] = r.handler(func(ctx context.Context, ask *api.RunRequest) (*api.RunResponse, error) {
			return r.operate(ctx, verb, ask)
		})
	}
	return verbs
}

func (r *Runner) handler(decide func(context.Context, *api.RunRequest) (*api.RunResponse, error)) bus.Handler {
	return func(ctx context.Context, by api.Caller, body []byte) (any, error) {
		var ask api.RunRequest
		if err := api.ReadRequest(by, body, &ask); err != nil {
			return nil, err
		}
		if !r.synced() {
			return nil, unavailable(bus.ErrNotSynced)
		}
		r.deciding.Lock()
		defer r.deciding.Unlock()
		var answer *api.RunResponse
		var err error
		for range tries {
			r.refresh()
			if answer, err = decide(ctx, &ask); !errors.Is(err, bus.ErrConflict) {
				break
			}
		}
		if err != nil {
			return nil, translate(err)
		}
		return answer, nil
	}
}

func unavailable(err error) *api.Failure {
	return &api.Failure{Code: api.CodeUnavailable, Message: "the hub is not ready: " + err.Error(), Next: "flotilla status"}
}

// translate turns refusals and errors of the bus into failures that a client can act on.
func translate(err error) error {
	var refusal *api.Refusal
	switch {
	case errors.As(err, &refusal):
		return refusal.Failure()
	case errors.Is(err, bus.ErrDeposed), errors.Is(err, bus.ErrConflict):
		return unavailable(err)
	case errors.Is(err, bus.ErrTooLarge):
		return &api.Failure{Code: api.CodeTooLarge, Message: err.Error()}
	}
	return err
}

// operate does what a user asks of a run, in one write.
func (r *Runner) operate(ctx context.Context, verb string, ask *api.RunRequest) (*api.RunResponse, error) {
	s, err := r.gather(ask.Run)
	if err != nil {
		return nil, err
	}
	if s.gone() {
		return nil, &api.Refusal{Code: api.CodeRunNotFound, Message: fmt.Sprintf("there is no run %q", ask.Run), Next: "flotilla get runs"}
	}
	if s.stale() {
		if err := r.create(ctx, s); err != nil {
			return nil, err
		}
	}
	if err := s.status.Status.Error; uncreated(s.status) && err != nil {
		return nil, &api.Refusal{Code: err.Code, Message: "the run cannot be created: " + strings.TrimPrefix(err.Message, err.Code+": "), Next: "flotilla run status " + s.name}
	}
	if ask.Request != "" && slices.Contains(s.status.Requests, ask.Request) {
		return r.answer(s), nil
	}
	if refusal := r.compareVersion(s, ask.ResourceVersion); refusal != nil {
		return nil, refusal
	}
	return r.decideOperation(ctx, s, verb, ask)
}

func (r *Runner) decideOperation(ctx context.Context, s *situation, verb string, ask *api.RunRequest) (*api.RunResponse, error) {
	step, refusal := s.operate(verb, ask)
	if refusal != nil {
		return nil, refusal
	}
	if !step.Noop && ask.Request != "" {
		step.Status.Requests = remember(s.status.Requests, ask.Request)
		step.Changed = true
	}
	var asked []api.Audit
	if !step.Noop {
		asked = append(asked, asking(s.name, verb, ask))
	}
	if err := r.carry(ctx, s, &step, ask.By, asked...); err != nil {
		return nil, err
	}
	if at := r.recheck(&step); !at.IsZero() {
		r.queue.AddAt(runKey+s.name, at)
	}
	answer := r.answer(s)
	answer.Unchanged = step.Noop
	return answer, nil
}

// operate does what is asked of a run, of upgrades or of content.
func (s *situation) operate(verb string, ask *api.RunRequest) (stage.Decision, *api.Refusal) {
	if s.staged == nil {
		return upgrade.Operate(s.run, s.status, s.view, s.now, verb, ask)
	}
	step, refusal := staged.Operate(s.staged, s.status, s.content, s.now, verb, ask)
	return unlocked(step), refusal
}

// remember adds a request id and forgets the oldest beyond the limit.
func remember(ids []string, id string) []string {
	return append(slices.Clone(ids[max(0, len(ids)+1-maxRequests):]), id)
}

func (r *Runner) answer(s *situation) *api.RunResponse {
	return &api.RunResponse{Run: s.name, State: s.status.Status.State, Next: stage.Next(s.status), Warnings: s.status.Warnings}
}

// version is the resourceVersion of a record's revision.
func (r *Runner) version(revision uint64) string {
	return fmt.Sprintf("%d.%d", r.store.Term.Epoch, revision)
}

// compareVersion is the optimistic lock: the run as a user reads it carries the revision of its spec
// or of its status.
func (r *Runner) compareVersion(s *situation, given string) *api.Refusal {
	_, spec, _ := r.records.runSpecs.Get(s.name)
	return upgrade.CheckVersion(s.name, given, r.version(s.revision), r.version(spec))
}

// asking is the event of what a user asks for.
func asking(run, verb string, ask *api.RunRequest) api.Audit {
	words := []string{verb}
	for _, target := range ask.Targets {
		words = append(words, target.Type+":"+target.Name)
	}
	if ask.Gate != "" {
		words = append(words, ask.Gate)
	}
	words = append(words, ask.Members...)
	message := strings.Join(words, " ")
	if ask.IncludeSkipped {
		message += ", skipped members included"
	}
	if ask.IgnoreMaintenanceWindows {
		message += ", maintenance windows ignored"
	}
	if ask.Reason != "" {
		message += ": " + ask.Reason
	}
	return ask.By.Audit(api.Audit{Object: runObject(run), Type: "Normal", Reason: "Asked", Message: message})
}
