package worker

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"flotilla/agent/disk"
	"flotilla/core/api"
)

// stateVersion is the layout of the data directory this build writes and reads.
const stateVersion = 3

// sweepAge keeps content that nothing refers to for a while, in case a command brings it back.
const sweepAge = 10 * time.Minute

// diskStore is the agent's memory on disk: the newest command, the content it needs, and the last result
// of each placement. Files are replaced whole, so that a kill at any moment leaves the old or the new
// one; what cannot be read again is treated as absent, never as empty.
type diskStore struct {
	dir  string
	lock *os.File

	mu      sync.Mutex
	pending map[string][]byte // sealed content that is not on the disk yet, by place
}

// stateFile says whose directory it is.
type stateFile struct {
	Version int    `json:"version"`
	Member  string `json:"member"`
}

// openStore makes or opens the directory of a member's agent and locks it against a second agent.
func openStore(dir, member string) (*diskStore, error) {
	for _, sub := range []string{"content", "results"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return nil, fmt.Errorf("making the data directory of member %s: %w; give another one with --data", member, err)
		}
	}
	lock, err := lockDirectory(dir)
	if err != nil {
		return nil, err
	}
	s := &diskStore{dir: dir, lock: lock, pending: map[string][]byte{}}
	if err := s.claim(member); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, disk.DropTemporaries(dir)
}

func lockDirectory(dir string) (*os.File, error) {
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("locking %s: %w", dir, err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("data directory %s is in use by another agent: stop it, or give another directory with --data", dir), lock.Close())
	}
	return lock, nil
}

// claim checks that the directory is this member's and of a layout this build knows.
func (s *diskStore) claim(member string) error {
	var found stateFile
	path := filepath.Join(s.dir, "state.json")
	switch err := disk.Read(path, &found); {
	case errors.Is(err, fs.ErrNotExist):
		return disk.Write(path, stateFile{Version: stateVersion, Member: member})
	case err != nil:
		return fmt.Errorf("%w; give another directory with --data", err)
	case found.Member != member:
		return fmt.Errorf("data directory %s belongs to member %s, not %s: give another directory with --data", s.dir, found.Member, member)
	case found.Version < stateVersion:
		return fmt.Errorf("data directory %s has version %d, this agent reads %d: it was made by an older agent, which did not seal what it kept; "+
			"move it away and start again, what runs on the member stays", s.dir, found.Version, stateVersion)
	case found.Version > stateVersion:
		return fmt.Errorf("data directory %s has version %d, this agent reads up to %d: run the newer agent, or give another directory with --data",
			s.dir, found.Version, stateVersion)
	}
	return nil
}

func (s *diskStore) close() error { return s.lock.Close() }

// commands is the newest command that was accepted.
func (s *diskStore) commands(member string) (*disk.Newest[api.PlacementCommand], error) {
	return disk.OpenNewest[api.PlacementCommand](filepath.Join(s.dir, "index.json"), api.KindPlacementCommand, member)
}

// content reads a piece as it is sealed; fs.ErrNotExist when it is not cached.
func (s *diskStore) content(at string) ([]byte, error) {
	s.mu.Lock()
	sealed, ok := s.pending[at]
	s.mu.Unlock()
	if ok {
		return sealed, nil
	}
	return os.ReadFile(s.contentPath(at))
}

// dropContent forgets a piece that cannot be opened, such as a file cut short by a power failure.
func (s *diskStore) dropContent(at string) error {
	s.mu.Lock()
	delete(s.pending, at)
	s.mu.Unlock()
	if err := os.Remove(s.contentPath(at)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// keepContent caches a piece that could be opened, as it is sealed. It is on the disk after the next flush, so
// that a result need not wait for the disk: content that a crash takes along is fetched again.
func (s *diskStore) keepContent(at string, sealed []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending[at] = sealed
}

// flush brings cached content to the disk.
func (s *diskStore) flush() error {
	s.mu.Lock()
	pending := maps.Clone(s.pending)
	s.mu.Unlock()
	if len(pending) == 0 {
		return nil
	}
	for at, sealed := range pending {
		if err := disk.Replace(s.contentPath(at), sealed, true); err != nil {
			return err
		}
		s.mu.Lock()
		delete(s.pending, at)
		s.mu.Unlock()
	}
	return disk.Sync(filepath.Join(s.dir, "content"))
}

// sweep drops content that is not in use and was written so long ago that it is old.
func (s *diskStore) sweep(inUse map[string]bool, old func(written time.Time) bool) error {
	entries, err := os.ReadDir(filepath.Join(s.dir, "content"))
	if err != nil {
		return err
	}
	var faults []error
	for _, e := range entries {
		at, err := e.Info()
		if err != nil || inUse[e.Name()] || !old(at.ModTime()) {
			continue
		}
		faults = append(faults, os.Remove(s.contentPath(e.Name())))
	}
	return errors.Join(faults...)
}

// saveResult remembers the last result of a placement.
func (s *diskStore) saveResult(r api.PlacementResult) error {
	body, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("keeping the result of %s: %w", r.Placement, err)
	}
	return disk.Replace(filepath.Join(s.dir, resultName(r.Placement)), body, false)
}

// forgetResult drops the last result of a placement.
func (s *diskStore) forgetResult(placement string) error {
	err := os.Remove(filepath.Join(s.dir, resultName(placement)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// loadResults reads the last results by placement. What cannot be read is left out: a result is made
// anew when its placement is looked at.
func (s *diskStore) loadResults() (map[string]api.PlacementResult, error) {
	entries, err := os.ReadDir(filepath.Join(s.dir, "results"))
	if err != nil {
		return nil, err
	}
	out := map[string]api.PlacementResult{}
	for _, e := range entries {
		var r api.PlacementResult
		name := filepath.Join("results", e.Name())
		if err := disk.Read(filepath.Join(s.dir, name), &r); err == nil && resultName(r.Placement) == name {
			out[r.Placement] = r
		}
	}
	return out, nil
}

func resultName(placement string) string {
	return filepath.Join("results", url.PathEscape(placement)+".json")
}

func (s *diskStore) contentPath(at string) string {
	return filepath.Join(s.dir, "content", filepath.Base(at))
}
