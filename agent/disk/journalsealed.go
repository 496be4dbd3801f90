package disk

import (
	"fmt"
	"time"
)

// Sealed keeps a value under a name, sealed with a key.
func (j *Journal) Sealed(name string, key []byte, now func() time.Time) Sealed {
	return sealedEntry{journal: j, name: name, key: key, now: now}
}

type sealedEntry struct {
	journal *Journal
	name    string
	key     []byte
	now     func() time.Time
}

func (e sealedEntry) Write(value any) error {
	text, err := SealValue(e.name, e.key, value)
	if err != nil {
		return fmt.Errorf("writing %s in %s: %w", e.name, e.journal.path, err)
	}
	if err := e.journal.Put(e.name, text, e.now()); err != nil {
		return err
	}
	return e.journal.Sync()
}

func (e sealedEntry) Read(into any) error {
	sealed, err := e.journal.Get(e.name)
	if err != nil {
		return err
	}
	if err := OpenValue(e.name, e.key, sealed, into); err != nil {
		return fmt.Errorf("reading %s in %s: %w; %s", e.name, e.journal.path, err, remedyOfJournal)
	}
	return nil
}
