package memory

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"flotilla/agent/disk"
)

// Members that are kept lie in a folder: member.json holds what the provider knows, objects one file for
// each object with its pods. A write is on its file before the member's lock is released, so that nobody
// was told what a kill takes back; it is not synced, so that a crash of the machine may.

// keeper writes a member to its folder. The zero value keeps nothing.
type keeper struct {
	folder  string
	due     bool // member.json is older than the member
	objects map[*stored]struct{}
	// reserved are the counts that member.json promises never to fall behind.
	reserved counts
	ahead    int64 // by how much they are reserved
	fault    error // why the last write failed
}

// stale notes that member.json is out of date.
func (k *keeper) stale() { k.due = k.folder != "" }

// changed notes that an object, its pods included, is not as its file has it.
func (k *keeper) changed(s *stored) {
	if k.folder != "" {
		k.objects[s] = struct{}{}
	}
}

func (k *keeper) member() string { return filepath.Join(k.folder, "member.json") }

func (k *keeper) object(number int64) string {
	return filepath.Join(k.folder, "objects", fmt.Sprintf("%012d.json", number))
}

// margin is how far the counts of member.json are ahead of the member, so that it need not be written
// for each object.
const margin = 1024

// Open returns the member that is kept in a folder, or a new one that will be. Of one that is there
// already the options say only how it behaves: its versions, pools and nodes are those of the folder.
func Open(o Options, folder string) (*Member, error) {
	return openAhead(o, folder, margin)
}

func openAhead(o Options, folder string, ahead int64) (*Member, error) {
	m := New(o)
	m.mu.Lock()
	defer m.unlock()
	m.keep = keeper{folder: folder, due: true, objects: map[*stored]struct{}{}, ahead: ahead}
	err := m.restore()
	if err != nil {
		m.closed, m.keep = true, keeper{}
		return nil, fmt.Errorf("opening the member in memory: %w; without the folder %s it starts anew", err, folder)
	}
	return m, nil
}

// begin keeps the member from now on.
func (m *Member) begin() error {
	objects := filepath.Join(m.keep.folder, "objects")
	if err := errors.Join(os.RemoveAll(objects), os.MkdirAll(objects, 0o700)); err != nil {
		return err
	}
	for _, s := range m.objects {
		m.keep.changed(s)
	}
	m.write()
	return m.keep.fault
}

// unlock releases the lock once all that changed under it is kept.
func (m *Member) unlock() {
	if m.keep.due || len(m.keep.objects) > 0 {
		m.write()
	}
	m.mu.Unlock()
}

// write brings the folder up to date. What cannot be written is tried again with the next change.
func (m *Member) write() {
	k := &m.keep
	k.fault = nil
	for _, s := range slices.SortedFunc(maps.Keys(k.objects), byNumber) {
		if err := m.writeObject(s); err != nil {
			k.fault = err
			break
		}
		delete(k.objects, s)
	}
	if k.fault == nil && (k.due || m.counts.over(k.reserved)) {
		k.fault = m.writeMember()
		k.due = k.fault != nil
	}
}

func (m *Member) writeObject(s *stored) error {
	path := m.keep.object(s.Number)
	if m.objects[s.id()] == s {
		return put(path, s)
	}
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (m *Member) writeMember() error {
	record := m.recordMember()
	if err := put(m.keep.member(), record); err != nil {
		return err
	}
	m.keep.reserved = record.Counts
	return nil
}

// kept is nil unless the member could not be kept.
func (m *Member) kept() error {
	if m.keep.fault == nil {
		return nil
	}
	return fmt.Errorf("the state of member %s cannot be kept: %w", m.name, m.keep.fault)
}

func put(path string, value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return disk.Replace(path, body, false)
}
