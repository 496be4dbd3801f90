package door

import (
	"context"

	"flotilla/bus"
	"flotilla/core/api"
)

// raw reads a record as it is stored, also one that no room can read.
func (d *Door) raw(ctx context.Context, request *api.RawRequest) (any, error) {
	value, err := bus.RawRecord(ctx, d.store.Conn, request.Bucket, request.Key)
	if err != nil {
		return nil, err
	}
	return &api.RawResponse{Value: value}, nil
}

// whoami answers who asked, as the servers know them.
func (d *Door) whoami(_ context.Context, request *api.WhoamiRequest) (any, error) {
	by := request.By
	return &api.WhoamiResponse{Name: by.Name, Role: by.Role, Address: by.Address}, nil
}
