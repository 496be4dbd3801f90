package agentd

import (
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"flotilla/bus/disk"
)

// writeEvery is how often the data directory is written into while its file system has room. Quotas show in nothing else.
const writeEvery = time.Minute

// folder is the data directory. While it cannot be written nothing new is followed, because what is not
// remembered might be done twice; what runs goes on.
type folder struct {
	path string
	log  zerolog.Logger
	now  func() time.Time
	// again is called when the folder can be written once more.
	again func()

	mu    sync.Mutex
	fault error
	wrote time.Time
}

// writable tries to write where it did not lately, and says why that is not possible.
func (f *folder) writable() error {
	if f.lately() && disk.Roomy(f.path) {
		return nil
	}
	err := disk.Writable(f.path)
	if err != nil {
		err = fmt.Errorf("the data directory %s cannot be written, so no new command is followed: %w: make room there; the agent goes on by itself", f.path, err)
	}
	f.mu.Lock()
	before := f.fault
	f.fault, f.wrote = err, f.now()
	f.mu.Unlock()
	switch {
	case err != nil && before == nil:
		f.log.Error().Err(err).Msg("waiting")
	case err == nil && before != nil:
		f.log.Info().Str("data", f.path).Msg("the data directory can be written again")
		f.again()
	}
	return err
}

// lately says that the folder was written into within writeEvery. A clock that was set back has it written into again.
func (f *folder) lately() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	since := f.now().Sub(f.wrote)
	return f.fault == nil && !f.wrote.IsZero() && since >= 0 && since < writeEvery
}
