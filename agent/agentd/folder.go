package agentd

import (
	"fmt"
	"sync"

	"github.com/rs/zerolog"

	"flotilla/bus/disk"
)

// folder is the data directory. While it cannot be written nothing new is followed, because what is not
// remembered might be done twice; what runs goes on.
type folder struct {
	path string
	log  zerolog.Logger
	// again is called when the folder can be written once more.
	again func()

	mu    sync.Mutex
	fault error
}

// writable tries to write, and says why that is not possible.
func (f *folder) writable() error {
	err := disk.Writable(f.path)
	if err != nil {
		err = fmt.Errorf("the data directory %s cannot be written, so no new command is followed: %w: make room there; the agent goes on by itself", f.path, err)
	}
	f.mu.Lock()
	before := f.fault
	f.fault = err
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
