package disk

import (
	"fmt"
	"path/filepath"
	"sync"

	"github.com/fsnotify/fsnotify"
)

// Watch has a channel of capacity 1 hear of it whenever a file comes, changes or goes, until stop is called. Its folder
// must be there. One watch of the operating system serves all files of a process, since a user gets few of them.
func Watch(path string) (changes <-chan struct{}, stop func(), err error) {
	c := make(chan struct{}, 1)
	path, err = filepath.Abs(path)
	if err == nil {
		err = watched.add(path, c)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("watching %s: %w", path, err)
	}
	return c, sync.OnceFunc(func() { watched.remove(path, c) }), nil
}

var watched = watches{listeners: map[string]map[chan struct{}]bool{}}

// watches are the files of this process that somebody listens to.
type watches struct {
	mu        sync.Mutex
	system    *fsnotify.Watcher                 // nil while nobody listens
	listeners map[string]map[chan struct{}]bool // by path
}

func (w *watches) add(path string, c chan struct{}) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.system == nil {
		system, err := fsnotify.NewWatcher()
		if err != nil {
			return err
		}
		w.system = system
		go w.follow(system)
	}
	if err := w.system.Add(filepath.Dir(path)); err != nil {
		w.rest()
		return err
	}
	if w.listeners[path] == nil {
		w.listeners[path] = map[chan struct{}]bool{}
	}
	w.listeners[path][c] = true
	return nil
}

func (w *watches) remove(path string, c chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if delete(w.listeners[path], c); len(w.listeners[path]) > 0 {
		return
	}
	delete(w.listeners, path)
	for other := range w.listeners {
		if filepath.Dir(other) == filepath.Dir(path) {
			return
		}
	}
	_ = w.system.Remove(filepath.Dir(path)) // it is gone already when the folder is
	w.rest()
}

// rest ends the watch of the operating system once nobody listens; the lock is held.
func (w *watches) rest() {
	if len(w.listeners) == 0 {
		_ = w.system.Close()
		w.system = nil
	}
}

// follow passes on what changes until the watch of the operating system is closed. What it could not keep may have been
// about any file.
func (w *watches) follow(system *fsnotify.Watcher) {
	for {
		select {
		case event, open := <-system.Events:
			if !open {
				return
			}
			w.tell(event.Name)
		case _, open := <-system.Errors:
			if !open {
				return
			}
			w.tellAll()
		}
	}
}

func (w *watches) tell(path string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.listeners[path] {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

func (w *watches) tellAll() {
	w.mu.Lock()
	paths := make([]string, 0, len(w.listeners))
	for path := range w.listeners {
		paths = append(paths, path)
	}
	w.mu.Unlock()
	for _, path := range paths {
		w.tell(path)
	}
}
