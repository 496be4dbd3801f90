package command

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"flotilla/agent/exec"
)

const (
	// maxOutput is how much of what a command prints is kept: in two halves, the older of which makes
	// room for the next.
	maxOutput = 10 << 20
	// maxLine is the longest line that is read as progress.
	maxLine = 64 << 10
	// maxTail bounds the last words of standard error.
	maxTail = 1 << 10
	// tellEvery is how often progress is written down.
	tellEvery = 200 * time.Millisecond
)

// output keeps what a command prints, bounded, and its latest progress.
type output struct {
	folder folder

	mu      sync.Mutex
	file    *os.File
	size    int
	latest  progress
	changed bool
	tail    exec.Tail
}

// openOutput begins the output of a command.
func openOutput(f folder) (*output, error) {
	file, err := os.OpenFile(f.path(outputFile), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	return &output{folder: f, file: file, tail: exec.Tail{Most: maxTail}}, err
}

func (o *output) close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.file.Close()
}

// keep writes to the disk. A disk that is full costs the output, not the upgrade.
func (o *output) keep(text []byte) {
	if o.size+len(text) > maxOutput/2 {
		if o.turn() != nil {
			return
		}
	}
	n, _ := o.file.Write(text)
	o.size += n
}

// turn makes the current half the older one.
func (o *output) turn() error {
	if err := os.Rename(o.folder.path(outputFile), o.folder.path(outputFile+".1")); err != nil {
		return err
	}
	file, err := os.OpenFile(o.folder.path(outputFile), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	err = o.file.Close()
	o.file, o.size = file, 0
	return err
}

// listen reads standard output to its end: lines that are JSON objects are progress.
func (o *output) listen(from io.Reader) {
	lines := bufio.NewReaderSize(from, maxLine)
	whole := true
	for {
		line, err := lines.ReadSlice('\n')
		o.mu.Lock()
		o.keep(line)
		if whole && !errors.Is(err, bufio.ErrBufferFull) {
			o.hear(line)
		}
		o.mu.Unlock()
		whole = !errors.Is(err, bufio.ErrBufferFull)
		if err != nil && whole {
			return
		}
	}
}

// hear takes in a line if it is progress.
func (o *output) hear(line []byte) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 || line[0] != '{' {
		return
	}
	p := o.latest
	if json.Unmarshal(line, &p) != nil {
		return
	}
	p.Percent = min(max(p.Percent, 0), 100)
	o.changed = o.changed || !p.same(o.latest)
	o.latest = p
}

// Write keeps standard error and its last words.
func (o *output) Write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.keep(text)
	return o.tail.Write(text)
}

// tell writes the latest progress down, now and then, until it is stopped.
func (o *output) tell() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var telling sync.WaitGroup
	telling.Go(func() {
		tick := time.NewTicker(tellEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if p, changed := o.news(); changed {
					_ = o.folder.replace(progressFile, p) // the next one may succeed, and the end is what counts
				}
			}
		}
	})
	return func() { cancel(); telling.Wait() }
}

// news returns the latest progress, and whether it is newer than the last time.
func (o *output) news() (progress, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	changed := o.changed
	o.changed = false
	return o.latest, changed
}
