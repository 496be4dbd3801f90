// Package disk says how much room is left where servers keep what is written, in bytes and in inodes.
package disk

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"flotilla/core/api"

	"golang.org/x/sys/unix"
)

const (
	// mostReserve and leastShare bound the reserve that nobody asked for: 256 MiB, or a fiftieth of a
	// smaller file system.
	mostReserve = 256 << 20
	leastShare  = 50
	// mostReserveFiles is for inodes what mostReserve is for bytes.
	mostReserveFiles = 1000
)

// Room is what is left where servers keep what is written.
type Room struct {
	// Where is the folder, or the account and the servers it is on.
	Where string
	// Free bytes of Total; what nobody limits has Total 0. Below Reserve nothing more is to be accepted.
	Free, Total, Reserve int64
	// Files is the same for inodes.
	Files Files
	// Stopped says why servers store nothing any more, and which; empty while they do.
	Stopped string
	// Own is set where it is of a server of the hub's own.
	Own bool
	// Remedy is what makes room where bytes are short; empty where that follows from the rest.
	Remedy string
	// Look is the command that shows it; empty where that follows from the rest.
	Look string
	// Restarts is set where the hub starts them again itself as soon as there is room.
	Restarts bool
}

// Files are the inodes of a file system, of which every file and folder takes one.
type Files struct {
	// Free of Total; a file system that makes them as they are wanted has Total 0. Below Reserve nothing more is to
	// be accepted.
	Free, Total, Reserve int64
}

// Tighter is the room of servers, or that of something else where that alone is short.
func Tighter(servers, other Room) Room {
	if servers.Stopped == "" && !servers.Short() && other.Short() {
		return other
	}
	return servers
}

// Short says that there is less room than the reserve, of bytes or of inodes.
func (r Room) Short() bool { return r.shortOfBytes() || r.shortOfFiles() }

// WantsFiles says that it is inodes that are short, and not bytes.
func (r Room) WantsFiles() bool { return !r.shortOfBytes() && r.shortOfFiles() }

func (r Room) shortOfBytes() bool { return r.Total > 0 && r.Free < r.Reserve }

func (r Room) shortOfFiles() bool { return r.Files.Total > 0 && r.Files.Free < r.Files.Reserve }

// String is "/var/lib/flotilla has 12 MiB free of 20 GiB, 256 MiB are kept in reserve", or the same of inodes where
// these are short.
func (r Room) String() string {
	if r.WantsFiles() {
		return fmt.Sprintf("%s has %d inodes free of %d, %d are kept in reserve", r.Where, r.Files.Free, r.Files.Total, r.Files.Reserve)
	}
	return fmt.Sprintf("%s has %s free of %s, %s are kept in reserve", r.Where, api.Size(r.Free), api.Size(r.Total), api.Size(r.Reserve))
}

// Space is what a process without privileges may still write on a file system, in bytes and in inodes, and how much
// there is of both. A total of 0 is no limit.
type Space struct {
	Free, Total           int64
	FreeFiles, TotalFiles int64
}

// Statfs says how much space the file system of a folder has.
type Statfs func(folder string) (Space, error)

// FileSystem is the Statfs of the machine.
func FileSystem(folder string) (Space, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(folder, &s); err != nil {
		return Space{}, fmt.Errorf("looking how much room %s has: %w", folder, err)
	}
	block := int64(s.Bsize) //nolint:unconvert // of another size on other systems
	space := Space{Free: int64(s.Bavail) * block, Total: int64(s.Blocks) * block}
	space.FreeFiles, space.TotalFiles = inodes(s.Ffree, s.Files)
	return space, nil
}

// inodes reads what a file system says of its inodes. Some, such as btrfs, make them as they are wanted, and say that
// there are 0, or as many as there are numbers. More free ones than there are is no answer either.
func inodes(free, total uint64) (left, all int64) {
	if total > math.MaxInt64 || free > total {
		return 0, 0
	}
	return int64(free), int64(total)
}

const (
	probeFile  = ".room"
	probeBytes = 64 << 10
)

// Roomy says that the file system of a folder that is there can be written, and has more room than Writable takes. It writes
// nothing, and so does not know of quotas.
func Roomy(folder string) bool {
	var s unix.Statfs_t
	if err := unix.Statfs(folder, &s); err != nil || s.Flags&unix.ST_RDONLY != 0 {
		return false
	}
	_, all := inodes(s.Ffree, s.Files)
	return int64(s.Bavail)*int64(s.Bsize) > 2*probeBytes && (all == 0 || s.Ffree > 1) //nolint:unconvert // of another size on other systems
}

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
	space, err := statfs(folder)
	if err != nil {
		return Room{}, err
	}
	return Room{
		Where: folder, Free: space.Free, Total: space.Total, Reserve: Reserve(reserve, space.Total),
		Files: Files{Free: space.FreeFiles, Total: space.TotalFiles, Reserve: reserveOfFiles(reserve, space.TotalFiles)},
	}, nil
}

// Reserve is the reserve of what has a size: what was asked for, none when negative, chosen by the size when 0.
func Reserve(asked, total int64) int64 {
	switch {
	case asked > 0:
		return asked
	case asked < 0:
		return 0
	}
	return min(mostReserve, total/leastShare)
}

// reserveOfFiles is the reserve of inodes; what was asked for in bytes says no more of it than whether there is one.
func reserveOfFiles(asked, total int64) int64 {
	if asked < 0 {
		return 0
	}
	return max(1, min(mostReserveFiles, total/leastShare))
}
