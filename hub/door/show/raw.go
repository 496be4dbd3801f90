package show

import (
	"context"

	"flotilla/bus"
	"flotilla/core/api"
)

// Raw reads a record as it is stored, also one that no room can read.
func (v *View) Raw(ctx context.Context, request *api.RawRequest) (any, error) {
	value, err := bus.RawRecord(ctx, v.store.Conn, request.Bucket, request.Key)
	if err != nil {
		return nil, err
	}
	return &api.RawResponse{Value: value}, nil
}

// Whoami answers who asked, as the servers know them.
func (v *View) Whoami(_ context.Context, request *api.WhoamiRequest) (any, error) {
	by := request.By
	return &api.WhoamiResponse{Name: by.Name, Role: by.Role, Address: by.Address}, nil
}
