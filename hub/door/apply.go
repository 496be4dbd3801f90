package door

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"flotilla/core/api"
	"flotilla/hub/door/draft"
)

// readAhead reads the documents of a request, and returns what applies them. They are read again where what they were read with has
// changed, and whenever they are applied again.
func (d *Door) readAhead(ctx context.Context, request *api.ApplyRequest) (func(context.Context) (*api.ApplyResponse, error), error) {
	var ahead *draft.Documents
	if terms := termsOf(request); len(request.Documents) <= draft.MaxDocuments && terms.Check(len(request.Documents)) == nil {
		if ahead, _ = d.desk.Read(ctx, request.Documents, terms); ahead != nil { // an error is that of the next time
			d.records.Ahead(ctx, ahead.Refs())
		}
	}
	return func(ctx context.Context) (*api.ApplyResponse, error) {
		read := ahead
		if ahead = nil; read != nil && d.current(read) {
			return d.applyRead(ctx, request, read)
		}
		return d.apply(ctx, request)
	}, nil
}

// current says that documents would be read again as they were.
func (d *Door) current(read *draft.Documents) bool {
	for key, revision := range read.Seen {
		if d.store.State.Revision(key) != revision {
			return false
		}
	}
	return true
}

func termsOf(request *api.ApplyRequest) draft.Terms {
	return draft.Terms{Create: request.Create, Exact: request.Exact, Managed: request.Managed, Expect: request.Expect}
}

func (d *Door) apply(ctx context.Context, request *api.ApplyRequest) (*api.ApplyResponse, error) {
	if n := len(request.Documents); n == 0 || n > draft.MaxDocuments {
		return nil, draft.TooMany(n)
	}
	terms := termsOf(request)
	if failure := terms.Check(len(request.Documents)); failure != nil {
		return nil, failure
	}
	documents, err := d.desk.Read(ctx, request.Documents, terms)
	if err != nil {
		return nil, err
	}
	return d.applyRead(ctx, request, documents)
}

// applyRead applies documents as they were read.
func (d *Door) applyRead(ctx context.Context, request *api.ApplyRequest, documents *draft.Documents) (*api.ApplyResponse, error) {
	set := draft.Set{Name: request.Set, Prune: request.Prune, Move: request.Move}
	if failure := set.Check(); failure != nil {
		return nil, failure
	}
	if failure := forbidden(request.By, append(documents.Refs(), d.desk.Pruned(&set, documents)...)); failure != nil {
		return nil, failure
	}
	approvals, err := d.approvals(documents.TakeApprovals())
	if err != nil {
		return nil, err
	}
	if set.Prune && len(documents.All) == 0 {
		return nil, draft.TooMany(0)
	}
	f := d.desk.New(request.By, request.Request)
	f.Show, f.Set = request.DryRun && request.Show, set
	if err := f.Apply(ctx, documents); err != nil {
		return nil, err
	}
	notes, err := pruning(f, request)
	if err != nil {
		return nil, err
	}
	if request.DryRun {
		f.Foresee(d.view.Evicted, d.view.Drained)
		if err := f.LayOut(ctx); err != nil {
			return nil, err
		}
	} else if err := f.Commit(ctx); err != nil {
		return nil, fmt.Errorf("applying: %w", err)
	}
	approved, err := d.approve(ctx, request, approvals)
	if err != nil {
		return nil, err
	}
	return &api.ApplyResponse{Results: append(f.Results, approved...), Notes: notes}, nil
}

// pruning holds what a prune takes away against the bounds. On dry runs a note says what needs a yes.
func pruning(f *draft.Draft, request *api.ApplyRequest) (notes []string, err error) {
	if !f.Prunes() {
		return nil, nil
	}
	err = f.Taking(request.Yes, "nothing was applied")
	if beyond, refused := errors.AsType[*api.Failure](err); refused && request.DryRun {
		return []string{strings.TrimPrefix(beyond.Message, "nothing was applied: ") + ": it needs --yes"}, nil
	}
	return nil, err
}
