package hub

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"

	"flotilla/core/api"
)

// A backup file is gzip over lines of JSON: a BackupHead, its pages, which are sealed, and an archiveEnd over all lines
// before it.

// archiveEnd is the last line of a backup file.
type archiveEnd struct {
	End    bool   `json:"end"`
	Pages  int    `json:"pages"`
	SHA256 string `json:"sha256"` // of all lines before, in hex
}

// maxArchiveLine is longer than any line: a body of 4 MiB, in base64, sealed, in base64.
const maxArchiveLine = 16 << 20

// archiveWriter writes a backup file.
type archiveWriter struct {
	zip *gzip.Writer
	sum hash.Hash
	end archiveEnd
}

func newArchive(w io.Writer, head *api.BackupHead) (*archiveWriter, error) {
	a := &archiveWriter{zip: gzip.NewWriter(w), sum: sha256.New(), end: archiveEnd{End: true}}
	return a, a.line(head)
}

func (a *archiveWriter) line(value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	_, err = io.MultiWriter(a.zip, a.sum).Write(append(text, '\n'))
	return err
}

func (a *archiveWriter) add(page *api.BackupPage) error {
	a.end.Pages++
	return a.line(page)
}

func (a *archiveWriter) close() error {
	a.end.SHA256 = hex.EncodeToString(a.sum.Sum(nil))
	if err := a.line(&a.end); err != nil {
		return err
	}
	return a.zip.Close()
}

// errArchive says that a file is no backup, or not whole.
var errArchive = errors.New("not a whole backup")

// readArchive reads a backup file to its end, and hands out its pages as they come.
func readArchive(r io.Reader, take func(*api.BackupPage) error) (*api.BackupHead, error) {
	zip, err := gzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errArchive, err)
	}
	lines := bufio.NewScanner(zip)
	lines.Buffer(nil, maxArchiveLine)
	if !lines.Scan() {
		return nil, fmt.Errorf("%w: it is empty: %w", errArchive, errors.Join(lines.Err(), io.ErrUnexpectedEOF))
	}
	head := &api.BackupHead{}
	if err := json.Unmarshal(lines.Bytes(), head); err != nil || head.Kind != api.KindBackup {
		return nil, fmt.Errorf("%w: it does not begin with the head of one", errArchive)
	}
	if err := head.Readable(); err != nil {
		return head, err
	}
	sum := sha256.New()
	seen := archiveEnd{End: true}
	for {
		line := append(bytes.Clone(lines.Bytes()), '\n')
		_, _ = sum.Write(line) // never errs
		seen.SHA256 = hex.EncodeToString(sum.Sum(nil))
		if !lines.Scan() {
			return head, fmt.Errorf("%w: it ends after %d pages: %w", errArchive, seen.Pages, errors.Join(lines.Err(), io.ErrUnexpectedEOF))
		}
		var page struct {
			api.BackupPage
			archiveEnd
		}
		if err := json.Unmarshal(lines.Bytes(), &page); err != nil {
			return head, fmt.Errorf("%w: %w", errArchive, err)
		}
		if page.End {
			return head, checkEnd(lines, &page.archiveEnd, &seen)
		}
		seen.Pages++
		if err := take(&page.BackupPage); err != nil {
			return head, err
		}
	}
}

// checkEnd says whether the last line is that of what was read, and the last.
func checkEnd(lines *bufio.Scanner, end, seen *archiveEnd) error {
	switch {
	case *end != *seen:
		return fmt.Errorf("%w: its checksum is that of another content", errArchive)
	case lines.Scan() || lines.Err() != nil:
		return fmt.Errorf("%w: something follows its end", errArchive)
	}
	return nil
}
