package bus

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"flotilla/core/api"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sys/unix"
)

const (
	// mostReserve and leastShare bound the reserve that nobody asked for: 256 MiB, or a fiftieth of a
	// smaller file system.
	mostReserve = 256 << 20
	leastShare  = 50
)

// Room is what is left where servers keep what is written, in bytes.
type Room struct {
	// Where is the folder, or the account and the servers it is on.
	Where string
	// Free of Total; what nobody limits has Total 0. Below Reserve nothing more is to be accepted.
	Free, Total, Reserve int64
	// Stopped says why servers store nothing any more, and which; empty while they do.
	Stopped string
	// Own is set where it is of a server of the hub's own.
	Own bool
	// Restarts is set where the hub starts them again itself as soon as there is room.
	Restarts bool
}

// Short says that there is less room than the reserve.
func (r Room) Short() bool { return r.Total > 0 && r.Free < r.Reserve }

// String is "/var/lib/flotilla has 12 MiB free of 20 GiB, 256 MiB are kept in reserve".
func (r Room) String() string {
	return fmt.Sprintf("%s has %s free of %s, %s are kept in reserve", r.Where, api.Size(r.Free), api.Size(r.Total), api.Size(r.Reserve))
}

// Statfs says how much of the file system of a folder a process without privileges may still write, and how
// large it is.
type Statfs func(folder string) (free, total int64, err error)

// FileSystem is the Statfs of the machine.
func FileSystem(folder string) (free, total int64, err error) {
	var s unix.Statfs_t
	if err := unix.Statfs(folder, &s); err != nil {
		return 0, 0, fmt.Errorf("looking how much room %s has: %w", folder, err)
	}
	block := int64(s.Bsize) //nolint:unconvert // of another size on other systems
	return int64(s.Bavail) * block, int64(s.Blocks) * block, nil
}

const (
	probeFile  = ".room"
	probeBytes = 64 << 10
)

// Writable writes a small file into a folder and removes it again. Quotas and limits of a process show in
// nothing but that.
func Writable(folder string) error {
	path := filepath.Join(folder, probeFile)
	err := os.WriteFile(path, make([]byte, probeBytes), 0o600)
	if removed := os.Remove(path); removed != nil && !errors.Is(removed, os.ErrNotExist) {
		err = errors.Join(err, removed)
	}
	return err
}

// RoomIn is the room of a folder; reserve is that which is chosen by the size of the file system when 0, and
// none when negative.
func RoomIn(folder string, reserve int64, statfs Statfs) (Room, error) {
	free, total, err := statfs(folder)
	if err != nil {
		return Room{}, err
	}
	return Room{Where: folder, Free: free, Total: total, Reserve: reserveOf(reserve, total)}, nil
}

// reserveOf is the reserve of what has a size.
func reserveOf(asked, total int64) int64 {
	switch {
	case asked > 0:
		return asked
	case asked < 0:
		return 0
	}
	return min(mostReserve, total/leastShare)
}

// AccountRoom is the room that the account of the connection has on its servers, as far as it is limited.
func (c *Conn) AccountRoom(ctx context.Context, reserve int64) (Room, error) {
	info, err := c.JS.AccountInfo(ctx)
	if err != nil {
		return Room{}, fmt.Errorf("asking for the limits of the account: %w", err)
	}
	room := Room{Where: "the account of the hub on " + c.url}
	if limit := info.Limits.MaxStore; limit > 0 {
		room.Free, room.Total = max(0, limit-int64(info.Store)), limit
		room.Reserve = reserveOf(reserve, limit)
	}
	return room, nil
}

// Codes of nats-server for what it has no room for, and what they are about.
var codesFull = map[jetstream.ErrorCode]string{
	10002: "the limits of the account are reached",
	10023: "a server's max_file_store or max_memory_store is reached",
	10028: "max_memory_store is reached",
	10047: "max_file_store is reached",
}

// Full says which limit of the servers kept a write from being stored, empty when none did. A stream that is
// full is one.
func Full(err error) string {
	refused := (*jetstream.APIError)(nil)
	switch {
	case !errors.As(err, &refused):
		return ""
	case codesFull[refused.ErrorCode] != "":
		return codesFull[refused.ErrorCode]
	case refused.ErrorCode == codeStoreFailed:
		return "a stream is full"
	}
	return ""
}

// codeStoreFailed is of a message that a stream did not store, as where it is full.
const codeStoreFailed jetstream.ErrorCode = 10077

// IsUnanswered says that the servers did not answer a write: nobody knows whether it was stored.
func IsUnanswered(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, jetstream.ErrNoStreamResponse)
}
