package disk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"time"
)

// ErrDamaged says that a file does not hold what was written to it and had been on the disk.
var ErrDamaged = errors.New("it is damaged")

// What a record of a journal says.
const (
	opPut     = 1
	opDrop    = 2
	opSettled = 3 // nothing but how much is on the disk
)

// record is one change in a journal. On the disk: magic, length, checksum of what follows; settled, written, op, length of
// the name, name, value. Numbers are little-endian.
type record struct {
	op      byte
	name    string
	value   []byte
	written time.Time
	// settled is up to where the file was on the disk when the record was written.
	settled int64
}

const (
	magic = 0x4a4c4631 // "1FLJ"
	// front is what stands before the checked part, fixed what stands in it before the name.
	front, fixed = 12, 8 + 8 + 1 + 4
	// maxRecord bounds a record: a bundle, or an index, with its name.
	maxRecord = 96 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (r *record) encode() []byte {
	out := make([]byte, front, front+fixed+len(r.name)+len(r.value))
	out = binary.LittleEndian.AppendUint64(out, uint64(r.settled))
	written := int64(0)
	if !r.written.IsZero() {
		written = r.written.UnixNano()
	}
	out = binary.LittleEndian.AppendUint64(out, uint64(written))
	out = binary.LittleEndian.AppendUint32(append(out, r.op), uint32(len(r.name)))
	out = append(append(out, r.name...), r.value...)
	binary.LittleEndian.PutUint32(out, magic)
	binary.LittleEndian.PutUint32(out[4:], uint32(len(out)-front))
	binary.LittleEndian.PutUint32(out[8:], crc32.Checksum(out[front:], castagnoli))
	return out
}

// decode reads the record that a text begins with; size is 0 where it begins with none that is whole.
func decode(text []byte) (r record, size int) {
	if len(text) < front+fixed || binary.LittleEndian.Uint32(text) != magic {
		return r, 0
	}
	length := int64(binary.LittleEndian.Uint32(text[4:]))
	if length < fixed || length > maxRecord || length > int64(len(text)-front) {
		return r, 0
	}
	body := text[front : front+length]
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(text[8:]) {
		return r, 0
	}
	name := int64(binary.LittleEndian.Uint32(body[17:]))
	if name > length-fixed {
		return r, 0
	}
	r.settled, r.op = int64(binary.LittleEndian.Uint64(body)), body[16]
	if written := int64(binary.LittleEndian.Uint64(body[8:])); written != 0 {
		r.written = time.Unix(0, written)
	}
	r.name, r.value = string(body[fixed:fixed+name]), body[fixed+name:]
	return r, int(front + length)
}

// read reads a record again that is held. ErrDamaged.
func (j *Journal) read(at place) (record, error) {
	text := make([]byte, at.size)
	if _, err := j.file.ReadAt(text, at.at); err != nil && !errors.Is(err, io.EOF) {
		return record{}, err
	}
	r, size := decode(text)
	if size == 0 {
		return r, ErrDamaged
	}
	return r, nil
}

// load takes in what the file holds, and cuts off what a crash left at its end.
func (j *Journal) load() error {
	text, err := os.ReadFile(j.path)
	if err != nil {
		return err
	}
	at := 0
	for at < len(text) {
		r, size := decode(text[at:])
		if size == 0 {
			break
		}
		j.note(&r, int64(at), int64(size))
		at += size
	}
	if at < len(text) {
		if later := settledAfter(text[at:]); later > int64(at) {
			return fmt.Errorf("%s: %w: byte %d had been on the disk, and cannot be read: %s", j.path, ErrDamaged, at, remedyOfJournal)
		}
		if err := j.file.Truncate(int64(at)); err != nil {
			return err
		}
	}
	if err := j.file.Sync(); err != nil {
		return err
	}
	j.settled = j.size
	return nil
}

// remedyOfJournal says how an agent goes on whose journal is damaged.
const remedyOfJournal = "take it from a backup of the folder, or remove it: the agent reads its command from the hub again, and what runs stays"

// settledAfter is the most that any record says was on the disk, of those that can be found in a text.
func settledAfter(text []byte) (most int64) {
	for at := 1; at+front+fixed <= len(text); {
		r, size := decode(text[at:])
		if size == 0 {
			at++
			continue
		}
		most = max(most, r.settled)
		at += size
	}
	return most
}
