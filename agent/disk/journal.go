package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

const (
	// wasteful is how many bytes that nobody needs any more a journal keeps at least before it is written anew.
	wasteful = 256 << 10
	// lazily is how soon what was put is on the disk without Sync.
	lazily = 5 * time.Second
)

// Journal keeps values by name in one file, to whose end every change is written. A kill leaves what was put before; a
// power failure what was on the disk: Sync says so of all that was put, and several who wait for it share one write to the
// disk. What was cut short at the end is cut off when the file is opened; damage before that is an error. Once most of the
// file is old it is written anew, and takes the place of the former whole.
type Journal struct {
	path string

	mu      sync.Mutex
	turn    sync.Cond // syncing, or broken, has changed
	file    *os.File
	held    map[string]place
	size    int64 // of the file
	live    int64 // of that, what held refers to
	settled int64 // of that, what is on the disk
	syncing bool
	again   int64 // from which size on it is tried to write the file anew
	broken  bool  // what the file holds is not known: it is to be written anew before anything else
	closed  bool
	due     *time.Timer
}

// place is where the newest record of a name lies.
type place struct {
	at, size int64
	written  time.Time
}

// OpenJournal goes on with the file, or begins one.
func OpenJournal(path string) (*Journal, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	j := &Journal{path: path, file: file, held: map[string]place{}, again: wasteful}
	j.turn.L = &j.mu
	if err := j.load(); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return j, Sync(filepath.Dir(path))
}

// Get reads a value; fs.ErrNotExist without one, ErrDamaged where the disk gives back another than was put.
func (j *Journal) Get(name string) ([]byte, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	at, ok := j.held[name]
	if !ok {
		return nil, fmt.Errorf("%s in %s: %w", name, j.path, fs.ErrNotExist)
	}
	r, err := j.read(at)
	if err != nil {
		return nil, fmt.Errorf("reading %s in %s: %w", name, j.path, err)
	}
	return r.value, nil
}

// Put has a name hold a value. A kill does not take it away from then on, a power failure does not after Sync, or a few
// seconds. What errs has changed nothing.
func (j *Journal) Put(name string, value []byte, now time.Time) error {
	return j.append(record{op: opPut, name: name, value: value, written: now})
}

// Drop forgets a name, as Put does its value.
func (j *Journal) Drop(name string) error {
	j.mu.Lock()
	_, ok := j.held[name]
	j.mu.Unlock()
	if !ok {
		return nil
	}
	return j.append(record{op: opDrop, name: name})
}

// Names are those that begin with prefix, with when each was put.
func (j *Journal) Names(prefix string) map[string]time.Time {
	j.mu.Lock()
	defer j.mu.Unlock()
	out := map[string]time.Time{}
	for name, at := range j.held {
		if strings.HasPrefix(name, prefix) {
			out[name] = at.written
		}
	}
	return out
}

func (j *Journal) append(r record) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return fmt.Errorf("writing %s: %w", j.path, fs.ErrClosed)
	}
	if err := j.mend(); err != nil {
		return fmt.Errorf("writing %s: %w", j.path, err)
	}
	r.settled = j.settled
	text := r.encode()
	if _, err := j.file.WriteAt(text, j.size); err != nil {
		if cut := j.file.Truncate(j.size); cut != nil {
			j.broken = true
		}
		return fmt.Errorf("writing %s: %w", j.path, err)
	}
	j.note(&r, j.size, int64(len(text)))
	if j.due == nil {
		j.due = time.AfterFunc(lazily, func() { _ = j.Sync() }) // an error has the next change mend the file
	}
	return nil
}

// note takes in a record that lies in the file at a place, the end so far; the lock is held.
func (j *Journal) note(r *record, at, size int64) {
	j.size = at + size
	if before, had := j.held[r.name]; had {
		j.live -= before.size
		delete(j.held, r.name)
	}
	if r.op == opPut {
		j.held[r.name] = place{at: at, size: size, written: r.written}
		j.live += size
	}
}

// Sync returns once all that was put before is on the disk.
func (j *Journal) Sync() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.due != nil {
		j.due.Stop()
		j.due = nil
	}
	if j.closed {
		return nil
	}
	for wanted := j.size; j.settled < wanted; {
		if j.syncing {
			j.turn.Wait()
			continue
		}
		if err := j.settle(); err != nil {
			return fmt.Errorf("writing %s: %w", j.path, err)
		}
		wanted = min(wanted, j.size) // it was written anew
	}
	return nil
}

// settle brings to the disk what the file holds, or writes it anew when it is mostly old. The lock is held, and given up
// meanwhile.
func (j *Journal) settle() error {
	if j.broken || j.size > j.again && j.size > 2*j.live+wasteful {
		err := j.rewrite()
		if err == nil || j.broken {
			return err
		}
		j.again = 2 * j.size // the file as it is serves on
	}
	j.syncing = true
	file, upto := j.file, j.size
	j.mu.Unlock()
	err := file.Sync()
	j.mu.Lock()
	j.syncing = false
	j.turn.Broadcast()
	if err != nil {
		j.broken = true // the system may have dropped what it could not write
		return err
	}
	j.settled = max(j.settled, upto)
	return nil
}

// mend writes a file anew of which nobody knows what it holds; the lock is held.
func (j *Journal) mend() error {
	for j.syncing && j.broken {
		j.turn.Wait()
	}
	if !j.broken {
		return nil
	}
	return j.rewrite()
}

// rewrite puts a file in place of this one that holds the newest of each name alone; the lock is held, and nobody syncs.
// What the disk does not give back is left out: it is not to be had any more.
func (j *Journal) rewrite() error {
	file, err := os.CreateTemp(filepath.Dir(j.path), Temporary)
	if err != nil {
		return err
	}
	next := &Journal{path: j.path, file: file, held: map[string]place{}}
	err = j.copyTo(next)
	if err == nil {
		err = file.Sync()
	}
	if err == nil {
		err = os.Rename(file.Name(), j.path)
	}
	if err != nil {
		return errors.Join(err, file.Close(), os.Remove(file.Name()))
	}
	_ = j.file.Close()
	j.file, j.held, j.size, j.live, j.settled = file, next.held, next.size, next.live, next.size
	j.again, j.broken = wasteful, false
	return Sync(filepath.Dir(j.path))
}

// copyTo writes what is held to the end of another file, and that all of it was on the disk when it took its place.
func (j *Journal) copyTo(next *Journal) error {
	for name, at := range j.held {
		r, err := j.read(at)
		if errors.Is(err, ErrDamaged) {
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		r.settled = 0
		text := r.encode()
		if _, err := next.file.WriteAt(text, next.size); err != nil {
			return err
		}
		next.note(&r, next.size, int64(len(text)))
	}
	end := record{op: opSettled, settled: next.size}
	text := end.encode()
	if _, err := next.file.WriteAt(text, next.size); err != nil {
		return err
	}
	next.note(&end, next.size, int64(len(text)))
	return nil
}

// Close brings what was put to the disk, and closes the file.
func (j *Journal) Close() error {
	err := j.Sync()
	j.mu.Lock()
	defer j.mu.Unlock()
	for j.syncing {
		j.turn.Wait()
	}
	if j.closed {
		return err
	}
	j.closed = true
	return errors.Join(err, j.file.Close())
}
