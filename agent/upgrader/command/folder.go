package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"flotilla/agent/exec"
	"flotilla/core/api"
)

// Files in the folder of an operation.
const (
	orderFile     = "order.json"    // what to do, by the agent
	claimFile     = "claim.json"    // the supervisor that runs it; created once
	commandFile   = "command.json"  // the process of the command
	progressFile  = "progress.json" // how far it is
	endFile       = "end.json"      // how it ended
	outputFile    = "output"        // what it printed last; output.1 is what it printed before
	supervisorLog = "supervisor.log"
)

// order is what a supervisor is to do.
type order struct {
	Operation   api.UpgradeOperation `json:"operation"`
	Command     []string             `json:"command"`
	Environment []string             `json:"environment,omitempty"`
	Directory   string               `json:"directory,omitempty"`
	Timeout     time.Duration        `json:"timeout"`
	Grace       time.Duration        `json:"grace"`
}

// progress is one line that a command prints: {"percent": 40, "message": "…", "pools": ["np1"]}.
type progress struct {
	Percent int    `json:"percent"`
	Message string `json:"message,omitempty"`
	// Pools that were moved so far.
	Pools []string `json:"pools,omitempty"`
}

func (p progress) same(q progress) bool {
	return p.Percent == q.Percent && p.Message == q.Message && slices.Equal(p.Pools, q.Pools)
}

// ending is how a command ended.
type ending struct {
	Exit int `json:"exit"`
	// Signal that ended it, if one did.
	Signal string `json:"signal,omitempty"`
	// TimedOut is the time after which it was ended, 0 when it was not.
	TimedOut time.Duration `json:"timedOut,omitempty"`
	// Fault says why it could not be started.
	Fault string `json:"fault,omitempty"`
	// Last is the last progress, Tail the last lines of standard error.
	Last progress `json:"last,omitzero"`
	Tail string   `json:"tail,omitempty"`
}

// result is what an ending means.
func (e *ending) result(f folder) api.UpgradeResult {
	r := api.UpgradeResult{Outcome: api.OutcomeFailed, Reason: api.ReasonUpgradeFailed, Pools: e.Last.Pools}
	said := e.Tail
	if said == "" {
		said = e.Last.Message
	}
	switch {
	case e.Fault != "":
		r.Message = "the command could not be started: " + e.Fault
		return r
	case e.TimedOut > 0:
		r.Message = fmt.Sprintf("the command took longer than %s and was ended with all it had started", e.TimedOut)
	case e.Signal != "":
		r.Message = "the command was ended by signal " + e.Signal
	case e.Exit == 0:
		return api.UpgradeResult{Outcome: api.OutcomeSucceeded, Message: e.Last.Message, Pools: e.Last.Pools}
	case e.Exit == exec.TryLater:
		return api.UpgradeResult{Outcome: api.OutcomeBlocked, Message: "the command asks to try again later: " + said}
	default:
		r.Message = fmt.Sprintf("the command ended with exit code %d", e.Exit)
	}
	if said != "" {
		r.Message += ": " + said
	}
	r.Message += "; all it printed is in " + f.path(outputFile) + " beside the agent"
	return r
}

// folder is that of one operation.
type folder string

func folderOf(dir, id string) folder { return folder(filepath.Join(dir, url.PathEscape(id))) }

func (f folder) path(name string) string { return filepath.Join(string(f), name) }

func (f folder) has(name string) bool {
	_, err := os.Stat(f.path(name))
	return err == nil
}

// complaint is what the supervisor said last.
func (f folder) complaint() string {
	text, err := os.ReadFile(f.path(supervisorLog))
	if err != nil {
		return err.Error()
	}
	said := strings.TrimSpace(string(text))
	return said[strings.LastIndexByte(said, '\n')+1:]
}

// read reads a file; false when there is none.
func (f folder) read(name string, into any) (bool, error) {
	body, err := os.ReadFile(f.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = json.Unmarshal(body, into)
	}
	if err != nil {
		return false, fmt.Errorf("reading %s: %w", f.path(name), err)
	}
	return true, nil
}

// write puts a file in place of another, whole and on the disk.
func (f folder) write(name string, value any) error {
	temporary, err := f.draft(value, true)
	if err != nil {
		return err
	}
	return os.Rename(temporary, f.path(name))
}

// replace is write for what a power failure may take along.
func (f folder) replace(name string, value any) error {
	temporary, err := f.draft(value, false)
	if err != nil {
		return err
	}
	return os.Rename(temporary, f.path(name))
}

// create makes a file that must not be there; fs.ErrExist when it is.
func (f folder) create(name string, value any) error {
	temporary, err := f.draft(value, true)
	if err != nil {
		return err
	}
	return errors.Join(os.Link(temporary, f.path(name)), os.Remove(temporary))
}

func (f folder) draft(value any, sync bool) (string, error) {
	body, err := json.Marshal(value)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return "", err
	}
	file, err := os.CreateTemp(string(f), ".tmp-")
	if err != nil {
		return "", err
	}
	_, err = file.Write(body)
	if err == nil && sync {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return "", errors.Join(err, os.Remove(file.Name()))
	}
	return file.Name(), nil
}

// variables describe an operation to a command that reads no JSON.
func variables(member string, op *api.UpgradeOperation) []string {
	var names, pools []string
	for i := range op.NodePools {
		p := &op.NodePools[i]
		image := p.To
		if p.Newest {
			image = "newest"
		}
		names = append(names, p.Pool)
		pools = append(pools, strings.Join([]string{p.Pool, orDash(p.ToVersion), orDash(image)}, " "))
	}
	return []string{
		"FLOTILLA_MEMBER=" + member,
		"FLOTILLA_OPERATION=" + op.ID,
		"FLOTILLA_RUN=" + op.Run,
		fmt.Sprintf("FLOTILLA_ATTEMPT=%d", op.Attempt),
		"FLOTILLA_TYPE=" + op.Type,
		"FLOTILLA_CONTROL_PLANE_VERSION=" + op.ControlPlaneVersion,
		"FLOTILLA_NODE_POOL_NAMES=" + strings.Join(names, " "),
		"FLOTILLA_NODE_POOLS=" + strings.Join(pools, "\n"),
		fmt.Sprintf("FLOTILLA_DISABLE_UNATTENDED_UPGRADES=%t", op.DisableUnattendedUpgrades),
		fmt.Sprintf("FLOTILLA_MEMBER_TIMEOUT_SECONDS=%d", op.TimeoutSeconds),
	}
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
