package guards

import (
	"context"
	"fmt"
	"slices"
	"time"

	"flotilla/core/api"
)

// maxReason is how long a reason may be.
const maxReason = 200

// Freeze keeps a part of the fleet as it is until somebody unfreezes it. What is frozen already stays so, as whoever froze
// it says.
func (g *Guards) Freeze(ctx context.Context, request *api.FreezeRequest) (*api.FreezeResponse, error) {
	was, revision, err := g.scope(request)
	switch {
	case err != nil:
		return nil, err
	case request.Reason == "" || len(request.Reason) > maxReason || !api.Printable(request.Reason):
		return nil, &api.Failure{Code: api.CodeInvalid, Message: fmt.Sprintf("found the reason %q, expected 1 to %d printable characters: it is told to everybody who waits", request.Reason, maxReason)}
	case was != nil && was.Ended == nil && was.By == request.By.Name:
		return g.answer(api.ActionUnchanged, was), nil
	}
	if err := g.asSeen(request, was, revision); err != nil {
		return nil, err
	}
	if was != nil && was.Ended == nil {
		return g.answer(api.ActionUnchanged, was), nil
	}
	next := &api.Freeze{Header: api.NewHeader(api.KindFreeze), Scope: request.Scope, By: request.By.Name, Since: g.now(), Reason: request.Reason}
	answer := g.answer(api.ActionFrozen, next)
	if answer.ResourceVersion = g.version(revision); !request.DryRun {
		err = g.write(ctx, request.By, object(next), "Frozen", next.String(), g.records.Freezes.Put(next.Scope, next, revision))
	}
	return answer, err
}

// Unfreeze ends a freeze.
func (g *Guards) Unfreeze(ctx context.Context, request *api.FreezeRequest) (*api.FreezeResponse, error) {
	was, revision, err := g.scope(request)
	switch {
	case err != nil:
		return nil, err
	case was == nil || was.Ended != nil && was.EndedBy == request.By.Name:
		return g.answer(api.ActionUnchanged, &api.Freeze{Scope: request.Scope}), nil
	}
	if err := g.asSeen(request, was, revision); err != nil {
		return nil, err
	}
	if was.Ended != nil {
		return g.answer(api.ActionUnchanged, &api.Freeze{Scope: request.Scope}), nil
	}
	next := *was
	next.Header, next.Ended, next.EndedBy = api.NewHeader(api.KindFreeze), new(g.now()), request.By.Name
	answer := g.answer(api.ActionUnfrozen, &next)
	if answer.ResourceVersion = g.version(revision); !request.DryRun {
		err = g.write(ctx, request.By, object(&next), "Unfrozen", "it was: "+was.String(), g.records.Freezes.Put(next.Scope, &next, revision))
	}
	return answer, err
}

// scope is the freeze of what a request names, nil where there never was one, and its revision.
func (g *Guards) scope(request *api.FreezeRequest) (*api.Freeze, uint64, error) {
	named := &api.Freeze{Scope: request.Scope}
	switch member := named.Member(); {
	case member != "":
		if _, _, found, _ := g.records.Members.Find(member); !found {
			return nil, 0, g.records.Missing(api.ObjectRef{Kind: api.KindMemberCluster, Name: member})
		}
	case !slices.Contains([]string{api.FreezeFleet, api.FreezePlacements, api.FreezeRuns, api.FreezeNodes}, request.Scope):
		return nil, 0, &api.Failure{Code: api.CodeInvalid, Message: fmt.Sprintf("found scope %q, expected fleet, placements, runs, nodes, or a member", request.Scope)}
	}
	return g.records.Frozen()(request.Scope), g.records.Freezes.Revision(request.Scope), nil
}

// version is a revision of a freeze as people see it.
func (g *Guards) version(revision uint64) string {
	return fmt.Sprintf("%d.%d", g.store.Term.Epoch, revision)
}

// asSeen refuses what was asked for of a scope that somebody else froze or unfroze since, and says so.
func (g *Guards) asSeen(request *api.FreezeRequest, is *api.Freeze, revision uint64) error {
	if request.ResourceVersion == "" || request.ResourceVersion == g.version(revision) {
		return nil
	}
	now := (&api.Freeze{Scope: request.Scope}).What() + " not frozen"
	switch {
	case is != nil && is.Ended == nil:
		now = is.String()
	case is != nil:
		now = fmt.Sprintf("%s unfrozen by %s at %s", is.What(), is.EndedBy, is.Ended.UTC().Format(time.RFC3339))
	}
	return &api.Failure{Code: api.CodePrecondition, Message: "nothing was done: it changed since you looked: " + now, Next: "flotilla status"}
}

// answer tells of a freeze, and of the others that are in force.
func (g *Guards) answer(action string, f *api.Freeze) *api.FreezeResponse {
	others := slices.DeleteFunc(g.records.InForce(), func(o api.Freeze) bool { return o.Scope == f.Scope })
	return &api.FreezeResponse{Action: action, Freeze: *f, Others: others}
}

// object is what events about a freeze are about.
func object(f *api.Freeze) string {
	if member := f.Member(); member != "" {
		return api.AuditObject(api.AuditMember, member)
	}
	return api.AuditObject("fleet", f.Scope)
}
