package agentd

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"flotilla/agent/disk"
	"flotilla/agent/target/memory/faults"
)

// FaultsFile is the file in the data directory by which a person breaks and mends a member in memory
// while its agent runs: it holds the faults, one or several a line as faults.Parse reads them. Without
// the file the member has the faults of its configuration.
const FaultsFile = "faults"

// followFaults gives the member the faults of the file whenever the file changes.
func (a *Agent) followFaults(ctx context.Context) error {
	path := filepath.Join(a.o.Config.DataDir, FaultsFile)
	changes, stop, err := disk.Watch(path)
	if err != nil { // the operating system gives a user few watches
		a.o.Log.Warn().Err(err).Msg("the file of faults is read once, and not when it changes")
		stop = func() {}
	}
	defer stop()
	seen := ""
	for {
		text, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			a.o.Log.Warn().Err(err).Msg("reading the faults of the member")
		}
		if now := string(text); now != seen {
			seen = now
			a.setFaults(now, err == nil)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changes:
		}
	}
}

func (a *Agent) setFaults(text string, there bool) {
	words := strings.Fields(text)
	if !there {
		words = a.o.Config.Target.Memory.Faults
	}
	faults, err := faults.Parse(words)
	if err != nil {
		a.o.Log.Error().Err(err).Str("file", FaultsFile).Msg("the faults stay as they are")
		return
	}
	a.memory.SetFaults(faults)
	a.o.Log.Warn().Stringer("faults", faults).Msg("the member in memory has other faults now")
}
