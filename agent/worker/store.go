package worker

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"flotilla/agent/disk"
	"flotilla/core/api"
)

// stateVersion is the layout of the data directory this build writes and reads.
const stateVersion = 4

// sweepAge keeps content that nothing refers to for a while, in case a command brings it back.
const sweepAge = 10 * time.Minute

// What the journal holds: the index, sealed content by place, results by placement.
const (
	indexName     = "index"
	contentPrefix = "content/"
	resultPrefix  = "result/"
)

// diskStore is the agent's memory on disk: the newest command, the content it needs, and the last result
// of each placement, in a journal, so that a kill at any moment leaves the old or the new of each; what cannot be read
// again is treated as absent, never as empty.
type diskStore struct {
	dir     string
	lock    *os.File
	journal *disk.Journal
	key     []byte // that what is not sealed by the hub is sealed with
	now     func() time.Time

	mu      sync.Mutex
	pending map[string][]byte // sealed content that could not be written yet, by place
}

// stateFile says whose directory it is.
type stateFile struct {
	Version int    `json:"version"`
	Member  string `json:"member"`
}

// openStore makes or opens the directory of a member's agent and locks it against a second agent.
func openStore(dir, member string, now func() time.Time) (*diskStore, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the data directory of member %s: %w; give another one with --data", member, err)
	}
	lock, err := lockDirectory(dir)
	if err != nil {
		return nil, err
	}
	s := &diskStore{dir: dir, lock: lock, now: now, pending: map[string][]byte{}}
	if err := s.open(member); err != nil {
		return nil, errors.Join(err, unlock(lock))
	}
	return s, nil
}

func (s *diskStore) open(member string) (err error) {
	if err = s.claim(member); err != nil {
		return err
	}
	if err = disk.DropTemporaries(s.dir); err != nil {
		return err
	}
	if s.key, err = disk.Key(s.dir); err != nil {
		return fmt.Errorf("the key that the agent's files are sealed with: %w", err)
	}
	s.journal, err = disk.OpenJournal(filepath.Join(s.dir, "journal"))
	return err
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

// unlock gives the lock up before it closes the file. A program that is being started has a copy of the file between fork and exec, and
// the lock belongs to every copy: closing this one alone would leave the directory locked until then.
func unlock(lock *os.File) error {
	return errors.Join(syscall.Flock(int(lock.Fd()), syscall.LOCK_UN), lock.Close())
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
		return fmt.Errorf("data directory %s has version %d, this agent reads %d: it was made by an older agent, which kept its memory otherwise; "+
			"move it away and start again, what runs on the member stays", s.dir, found.Version, stateVersion)
	case found.Version > stateVersion:
		return fmt.Errorf("data directory %s has version %d, this agent reads up to %d: run the newer agent, or give another directory with --data",
			s.dir, found.Version, stateVersion)
	}
	return nil
}

func (s *diskStore) close() error { return errors.Join(s.journal.Close(), unlock(s.lock)) }

// commands is the newest command that was accepted.
func (s *diskStore) commands(member string) (*disk.Newest[api.PlacementCommand], error) {
	return disk.NewestIn(s.journal, indexName, s.key, s.now, api.KindPlacementCommand, member,
		func(c api.PlacementCommand, changes [][]byte) (api.PlacementCommand, error) {
			c, _, err := amended(c, changes)
			return c, err
		})
}

// content reads a piece as it is sealed; fs.ErrNotExist when it is not cached.
func (s *diskStore) content(at string) ([]byte, error) {
	s.mu.Lock()
	sealed, ok := s.pending[at]
	s.mu.Unlock()
	if ok {
		return sealed, nil
	}
	sealed, err := s.journal.Get(contentPrefix + at)
	if errors.Is(err, disk.ErrDamaged) {
		err = fs.ErrNotExist // it is fetched again
	}
	return sealed, err
}

// dropContent forgets a piece that cannot be opened.
func (s *diskStore) dropContent(at string) error {
	s.mu.Lock()
	delete(s.pending, at)
	s.mu.Unlock()
	return s.journal.Drop(contentPrefix + at)
}

// keepContent caches a piece that could be opened, as it is sealed; what cannot be written now is by a flush. A result
// does not wait for the disk: content that a crash of the machine takes along is fetched again.
func (s *diskStore) keepContent(at string, sealed []byte) {
	if s.journal.Put(contentPrefix+at, sealed, s.now()) == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending[at] = sealed
}

// flush writes content that could not be written before.
func (s *diskStore) flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for at, sealed := range s.pending {
		if err := s.journal.Put(contentPrefix+at, sealed, s.now()); err != nil {
			return err
		}
		delete(s.pending, at)
	}
	return nil
}

// sweep drops content that is not in use and was written so long ago that it is old.
func (s *diskStore) sweep(inUse map[string]bool, old func(written time.Time) bool) error {
	var faults []error
	for name, written := range s.journal.Names(contentPrefix) {
		if !inUse[strings.TrimPrefix(name, contentPrefix)] && old(written) {
			faults = append(faults, s.journal.Drop(name))
		}
	}
	return errors.Join(faults...)
}

// saveResult remembers the last result of a placement.
func (s *diskStore) saveResult(r api.PlacementResult) error {
	name := resultPrefix + r.Placement
	sealed, err := disk.SealValue(name, s.key, r)
	if err != nil {
		return fmt.Errorf("keeping the result of %s: %w", r.Placement, err)
	}
	return s.journal.Put(name, sealed, s.now())
}

// forgetResult drops the last result of a placement.
func (s *diskStore) forgetResult(placement string) error {
	return s.journal.Drop(resultPrefix + placement)
}

// loadResults reads the last results by placement. What cannot be read is left out: a result is made
// anew when its placement is looked at.
func (s *diskStore) loadResults() map[string]api.PlacementResult {
	out := map[string]api.PlacementResult{}
	for name := range s.journal.Names(resultPrefix) {
		var r api.PlacementResult
		sealed, err := s.journal.Get(name)
		if err == nil && disk.OpenValue(name, s.key, sealed, &r) == nil && resultPrefix+r.Placement == name {
			out[r.Placement] = r
		}
	}
	return out
}
