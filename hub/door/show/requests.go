package show

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"flotilla/core/api"
	"flotilla/core/staged"
	"flotilla/hub/door/records"
)

// requestItems are the approval requests of all staged runs, of a kind.
func (v *View) requestItems(kind string) []item {
	var items []item
	for _, run := range v.records.Runs.All() {
		for _, request := range staged.Requests(&run.Value) {
			if request.Kind != kind {
				continue
			}
			request.ResourceVersion = fmt.Sprintf("%v.%d", v.store.Term.Epoch, run.Revision)
			items = append(items, item{
				ref: api.ObjectRef{APIVersion: request.APIVersion, Kind: request.Kind, Namespace: request.Namespace, Name: request.Name},
				render: func(context.Context) (shown, error) {
					rendered, err := json.Marshal(request)
					if err != nil {
						return shown{}, fmt.Errorf("encoding %s: %w", request.Name, err)
					}
					return shown{body: rendered}, nil
				},
			})
		}
	}
	return items
}

// request renders an approval request, or says that there is none.
func (v *View) request(ctx context.Context, ref api.ObjectRef) (json.RawMessage, error) {
	items := v.requestItems(ref.Kind)
	i := slices.IndexFunc(items, func(i item) bool { return i.ref.Name == ref.Name && i.ref.Namespace == ref.Namespace })
	if i < 0 {
		return nil, records.NotFound(ref)
	}
	is, err := items[i].render(ctx)
	return is.body, err
}
