// Package files reads files and streams that a person named, with a bound: whatever stands at the end of a path, it does
// not use up memory. Reading a pipe waits for who writes to it, as long as that takes.
package files

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Most is how many bytes one file of documents may have. Larger fleets are written to several files.
const Most = 64 << 20

// Small is how many bytes a file may have that a person writes by hand or that holds a key.
const Small = 1 << 20

// firstPiece and lastPiece are how much is read at once: what is too long never stands in memory twice.
const (
	firstPiece = 4 << 10
	lastPiece  = 1 << 20
)

// TooLargeError says that more was found than is read.
type TooLargeError struct{ Most int64 }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("found more than %d MiB, expected at most that much in one file", e.Most>>20)
}

// Read reads a file of at most as many bytes.
func Read(path string, most int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	found, err := file.Stat()
	if err == nil && found.Mode().IsRegular() && found.Size() > most {
		err = &TooLargeError{most}
	}
	var text []byte
	if err == nil {
		text, err = All(file, most)
	}
	if tooLarge, is := errors.AsType[*TooLargeError](err); is {
		return nil, &fs.PathError{Op: "read", Path: path, Err: tooLarge}
	}
	return text, err
}

// All reads a stream of at most as many bytes to its end.
func All(from io.Reader, most int64) ([]byte, error) {
	var pieces [][]byte
	size := int64(firstPiece)
	for left := most; left >= 0; size = min(2*size, lastPiece) {
		next := make([]byte, min(size, left+1))
		read, err := io.ReadFull(from, next)
		pieces, left = append(pieces, next[:read]), left-int64(read)
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return bytes.Join(pieces, nil), nil
		case err != nil:
			return nil, err
		}
	}
	return nil, &TooLargeError{most}
}

// CheckRegular refuses what is no file: in a folder nobody wants a pipe or a device to be read.
func CheckRegular(path string) error {
	found, err := os.Stat(path)
	if at, is := errors.AsType[*fs.PathError](err); is {
		at.Op = "open" // as who reads it would say
	}
	if err != nil {
		return err
	}
	if !found.Mode().IsRegular() {
		return &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("found %s, expected a file", kind(found.Mode()))}
	}
	return nil
}

func kind(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "no file"
}
