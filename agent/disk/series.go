package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"
)

// series are changes of a value in a journal, in their order. Each begins anew with the value; what a crash left of an
// earlier one is nobody's.
type series struct {
	journal *Journal
	name    string
	key     []byte
	now     func() time.Time

	number uint64
	length int
}

// change is some of them that were received together.
type change struct {
	Received time.Time `json:"received"`
	Bodies   [][]byte  `json:"bodies"`
}

func (s *series) prefix() string { return fmt.Sprintf("%s/%d/", s.name, s.number) }

func (s *series) at(n int) Sealed {
	return s.journal.Sealed(fmt.Sprintf("%s%d", s.prefix(), n), s.key, s.now)
}

// open goes on with a series, whose changes are taken one by one.
func (s *series) open(number uint64, take func(*change) error) error {
	s.number = number
	for {
		var c change
		err := s.at(s.length).Read(&c)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			err = take(&c)
		}
		if err != nil {
			return fmt.Errorf("change %d of %s: %w", s.length, s.name, err)
		}
		s.length++
	}
}

// begin ends the series, and begins one with another number. What it cannot drop of earlier ones is left to the next.
func (s *series) begin(number uint64) {
	s.number, s.length = number, 0
	for name := range s.journal.Names(s.name + "/") {
		if !strings.HasPrefix(name, s.prefix()) {
			_ = s.journal.Drop(name)
		}
	}
}

// add writes a change; it is on the disk when add returns.
func (s *series) add(c *change) error {
	if err := s.at(s.length).Write(c); err != nil {
		return err
	}
	s.length++
	return nil
}
