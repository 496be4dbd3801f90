package door

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"flotilla/core/api"
	"flotilla/hub/door/draft"
)

func (d *Door) apply(ctx context.Context, request *api.ApplyRequest) (*api.ApplyResponse, error) {
	if n := len(request.Documents); n == 0 || n > draft.MaxDocuments {
		return nil, draft.TooMany(n)
	}
	terms := draft.Terms{Create: request.Create, Exact: request.Exact, Managed: request.Managed, Expect: request.Expect}
	if failure := terms.Check(len(request.Documents)); failure != nil {
		return nil, failure
	}
	documents, err := d.desk.Read(ctx, request.Documents, terms)
	if err != nil {
		return nil, err
	}
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
