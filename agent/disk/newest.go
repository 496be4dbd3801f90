package disk

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"flotilla/core/api"
)

// ErrOlder refuses a command that is older than the one followed: of a deposed hub, or of a broker that
// lost its last writes.
var ErrOlder = errors.New("the stored command is older than the one that is followed")

// Newest is the newest command of one kind that was accepted, kept on the disk. The lock of its owner guards it.
type Newest[C api.Command] struct {
	at           Sealed
	changes      *series // nil where commands are kept whole
	kind, member string

	heard bool // a command was read since then
	have  bool
	kept  kept[C]
}

// kept is what lies on the disk.
type kept[C any] struct {
	Received time.Time `json:"received"`
	Digest   string    `json:"digest"` // of the message as it was received
	// Series are the changes of the command that are kept beside it; another command has others.
	Series  uint64 `json:"series,omitempty"`
	Command C      `json:"command"`
}

// OpenNewest goes on with the command in a file, if there is one, which is sealed with the key of its folder. Kind
// is that of the messages, api.KindUpgradeCommand.
func OpenNewest[C api.Command](path, kind, member string) (*Newest[C], error) {
	at, err := SealedFile(path)
	if err != nil {
		return nil, err
	}
	n := &Newest[C]{at: at, kind: kind, member: member}
	return n, n.open()
}

// NewestIn is OpenNewest for a journal, where changes of the command are kept behind it; amended makes them.
func NewestIn[C api.Command](j *Journal, name string, key []byte, now func() time.Time, kind, member string, amended func(C, [][]byte) (C, error)) (*Newest[C], error) {
	n := &Newest[C]{at: j.Sealed(name, key, now), changes: &series{journal: j, name: name, key: key, now: now}, kind: kind, member: member}
	if err := n.open(); err != nil || !n.have {
		return n, err
	}
	return n, n.changes.open(n.kept.Series, func(c *change) (err error) {
		n.kept.Received = c.Received
		n.kept.Command, err = amended(n.kept.Command, c.Bodies)
		return err
	})
}

func (n *Newest[C]) open() error {
	err := n.at.Read(&n.kept)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	n.have = err == nil
	return err
}

// Heard says that a command was read from the stream since the file was opened, which it is or is newer than. Before that the file may be
// a copy from before.
func (n *Newest[C]) Heard() bool { return n.heard }

// Accept takes a command as it lies on the stream; it is on the disk when Accept returns. The one that it
// has is no change, unless it comes with other changes, and newer ones; an older one is ErrOlder; another one of equal
// order counts.
func (n *Newest[C]) Accept(body []byte, now time.Time) (changed bool, err error) {
	return n.AcceptAs(body, now, func(c C) (C, error) { return c, nil })
}

// AcceptAs is Accept of what is made of the command, such as by changes of it.
func (n *Newest[C]) AcceptAs(body []byte, now time.Time, made func(C) (C, error)) (changed bool, err error) {
	var c C
	if err := json.Unmarshal(body, &c); err != nil {
		return false, fmt.Errorf("reading the %s: %w", n.kind, err)
	}
	kind, member, _ := c.Addressed()
	if kind != n.kind || member != n.member {
		return false, fmt.Errorf("the command is a %q for member %q, expected a %s for %s", kind, member, n.kind, n.member)
	}
	sum := sha256.Sum256(body)
	digest := hex.EncodeToString(sum[:])
	if c, err = made(c); err != nil {
		return false, err
	}
	_, _, order := c.Addressed()
	switch {
	case !n.have:
	case digest == n.kept.Digest && order.Compare(n.Order()) <= 0:
		n.heard = true
		return false, nil
	case order.Compare(n.Order()) < 0:
		n.heard = true
		return false, ErrOlder
	}
	next := kept[C]{Received: now, Digest: digest, Series: n.kept.Series + 1, Command: c}
	if err := n.at.Write(next); err != nil {
		return false, fmt.Errorf("keeping the %s: %w", n.kind, err)
	}
	n.have, n.heard, n.kept = true, true, next
	if n.changes != nil {
		n.changes.begin(next.Series)
	}
	return true, nil
}

// Amend makes a newer one of the newest command of a journal, by changes of it, which alone are written; what was received
// is still that. They are on the disk when Amend returns.
func (n *Newest[C]) Amend(newer C, changes [][]byte, now time.Time) error {
	_, _, order := newer.Addressed()
	if !n.have || order.Compare(n.Order()) <= 0 {
		return ErrOlder
	}
	if err := n.changes.add(&change{Received: now, Bodies: changes}); err != nil {
		return fmt.Errorf("keeping a change of the %s: %w", n.kind, err)
	}
	n.kept.Received, n.kept.Command = now, newer
	return nil
}

// Command is the newest command, zero and false when there never was one.
func (n *Newest[C]) Command() (C, bool) { return n.kept.Command, n.have }

// Order is that of the newest command, zero when there never was one.
func (n *Newest[C]) Order() api.Order {
	_, _, order := n.kept.Command.Addressed()
	return order
}

// Received is when the newest command was accepted.
func (n *Newest[C]) Received() time.Time { return n.kept.Received }
