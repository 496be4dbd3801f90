package agentd

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"flotilla/agent/target/memory/faults"
)

// FaultsFile is the file in the data directory by which a person breaks and mends a member in memory
// while its agent runs: it holds the faults, one or several a line as faults.Parse reads them. Without
// the file the member has the faults of its configuration.
const FaultsFile = "faults"

// faultsEvery is how often FaultsFile is looked at.
const faultsEvery = 250 * time.Millisecond

// followFaults gives the member the faults of the file whenever the file changes.
func (a *Agent) followFaults(ctx context.Context) error {
	path := filepath.Join(a.o.Config.DataDir, FaultsFile)
	seen := ""
	tick := time.NewTicker(faultsEvery)
	defer tick.Stop()
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
		case <-tick.C:
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
