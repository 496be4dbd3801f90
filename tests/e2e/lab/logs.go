package lab

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

const (
	tailLines = 15
	tailBytes = 16 << 10
)

// Err names the processes that ended by themselves, each with the end of its log.
func (l *Lab) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var faults []error
	for _, p := range l.processes {
		faults = append(faults, p.fault())
	}
	return errors.Join(faults...)
}

// Mark is where each log ended at some time: bytes by path.
type Mark map[string]int64

// Mark remembers where the logs of the cluster end, and that of etcd.
func (c *Cluster) Mark() Mark {
	mark := Mark{}
	for _, path := range c.logs() {
		if info, err := os.Stat(path); err == nil {
			mark[path] = info.Size()
		}
	}
	return mark
}

// Tails are the last lines of each log that said something since a mark.
func (c *Cluster) Tails(since Mark) string {
	var text strings.Builder
	for _, path := range c.logs() {
		if said := tail(path, since[path]); said != "" {
			fmt.Fprintf(&text, "== %s\n%s\n", filepath.Base(path), said)
		}
	}
	return text.String()
}

func (c *Cluster) logs() []string {
	paths, _ := filepath.Glob(filepath.Join(c.lab.options.Folder, "logs", c.Name+"-*"))
	return append(paths, filepath.Join(c.lab.options.Folder, "logs", "etcd"))
}

// tail is the last lines of a file after an offset.
func tail(path string, offset int64) string {
	file, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = file.Close() }()
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return err.Error()
	}
	text := make([]byte, min(size-min(offset, size), tailBytes))
	read, err := file.ReadAt(text, size-int64(len(text)))
	if err != nil && !errors.Is(err, io.EOF) {
		return err.Error()
	}
	lines := bytes.Split(bytes.TrimSpace(text[:read]), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-tailLines):], []byte("\n")))
}
