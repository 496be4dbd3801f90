package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"flotilla/agent/exec"
	"flotilla/core/api"
)

// Options of a Driver. Dir, Program and Command are needed.
type Options struct {
	// Dir is where operations are kept, each in a folder of its own.
	Dir string
	// Program becomes a supervisor when it is started with what Driver gives it: a main that calls
	// Supervise first.
	Program string
	// Member the command upgrades.
	Member string
	// Command and its arguments, and the one that prints the inventory, if any.
	Command, Inventory []string
	// Environment is added to the agent's.
	Environment map[string]string
	// Directory they run in, the agent's when empty.
	Directory string
	// Timeout ends a command that takes longer, Grace after it was told to end it is killed.
	Timeout, Grace time.Duration
	// ClaimTime is how long a supervisor may take to begin, 30 s when 0.
	ClaimTime time.Duration
}

// Driver runs the command for operations.
type Driver struct{ o Options }

// New checks that the command can be found.
func New(o Options) (*Driver, error) {
	if o.ClaimTime <= 0 {
		o.ClaimTime = defaultClaimTime
	}
	for _, command := range [][]string{o.Command, o.Inventory} {
		if len(command) == 0 {
			continue
		}
		if err := exec.Findable(command[0], o.Directory); err != nil {
			return nil, fmt.Errorf("the command of upgrades %q cannot be run: %w", command[0], err)
		}
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of commands: %w", err)
	}
	return &Driver{o: o}, nil
}

// String names the driver.
func (d *Driver) String() string { return "exec" }

// Run starts a supervisor for an operation and follows it.
func (d *Driver) Run(ctx context.Context, op api.UpgradeOperation, report func(api.UpgradeResult)) (api.UpgradeResult, bool, error) {
	if err := d.sweep(); err != nil {
		return failed("tidying up after older upgrades: %s", err), true, nil
	}
	f := d.folder(op.ID)
	if err := f.write(orderFile, d.order(op)); err != nil {
		return failed("preparing the upgrade: %s", err), true, nil
	}
	pid, err := d.send(f)
	if err != nil {
		return failed("starting the upgrade: %s", err), true, nil
	}
	return d.follow(ctx, f, pid, report)
}

// Resume follows an operation of an earlier process. One that was prepared but not claimed by any
// supervisor is begun now: whoever claims it first runs it.
func (d *Driver) Resume(ctx context.Context, op api.UpgradeOperation, report func(api.UpgradeResult)) (api.UpgradeResult, bool, error) {
	f := d.folder(op.ID)
	if f.has(claimFile) {
		return d.follow(ctx, f, 0, report)
	}
	return d.Run(ctx, op, report)
}

func (d *Driver) folder(id string) folder { return folderOf(d.o.Dir, id) }

func (d *Driver) order(op api.UpgradeOperation) order {
	return order{
		Operation: op, Command: d.o.Command, Directory: d.o.Directory, Timeout: d.o.Timeout, Grace: d.o.Grace,
		Environment: exec.Variables(d.o.Environment, variables(d.o.Member, &op)...),
	}
}

// send starts the supervisor of a folder, in a session of its own, and returns its pid.
func (d *Driver) send(f folder) (int, error) {
	log, err := os.OpenFile(f.path(supervisorLog), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return 0, err
	}
	supervisor := osexec.Command(d.o.Program) //nolint:noctx // it lives on when the agent ends
	supervisor.Env = append(os.Environ(), supervisorVariable+"="+string(f))
	supervisor.Stdout, supervisor.Stderr = log, log
	supervisor.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := errors.Join(supervisor.Start(), log.Close()); err != nil {
		return 0, err
	}
	pid := supervisor.Process.Pid
	return pid, supervisor.Process.Release()
}

const (
	// firstLook and mostLook bound the time between two looks at a folder.
	firstLook = 20 * time.Millisecond
	mostLook  = 500 * time.Millisecond
	// defaultClaimTime is how long a supervisor may take until it claimed its operation.
	defaultClaimTime = 30 * time.Second
)

// follow waits for the end of an operation. Pid is the supervisor this process started, 0 when it is not
// ours.
func (d *Driver) follow(ctx context.Context, f folder, pid int, report func(api.UpgradeResult)) (api.UpgradeResult, bool, error) {
	var seen progress
	patience, impatient := context.WithTimeout(context.WithoutCancel(ctx), d.o.ClaimTime)
	defer impatient()
	for wait := firstLook; ; wait = min(wait*3/2, mostLook) {
		reap(pid)
		state, err := f.look()
		switch {
		case err != nil:
			return failed("following the upgrade: %s", err), true, nil
		case state.end != nil:
			bury(pid)
			return state.end.result(f), true, nil
		case state.claimed && !state.supervisor && !state.command:
			bury(pid)
			return api.UpgradeResult{}, false, nil
		case !state.claimed && patience.Err() != nil:
			if err := f.create(claimFile, process{}); err == nil {
				return failed("%s did not begin within %s and nothing was changed: %s", d.o.Program, d.o.ClaimTime, f.complaint()), true, nil
			}
		}
		if now := state.told(); !now.same(seen) {
			seen = now
			report(api.UpgradeResult{Percent: now.Percent, Message: now.Message, Pools: now.Pools})
			wait = firstLook
		}
		select {
		case <-ctx.Done():
			return api.UpgradeResult{}, true, ctx.Err()
		case <-time.After(wait):
		}
	}
}

// reap takes notice of the end of a supervisor that is a child of this process, and reports that there is
// nothing to take notice of any more.
func reap(pid int) bool {
	if pid <= 0 {
		return true
	}
	ended, err := syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
	return ended == pid || errors.Is(err, syscall.ECHILD)
}

// bury waits a moment for a supervisor that said its last words, or came after another one.
func bury(pid int) {
	moment, over := context.WithTimeout(context.Background(), time.Second)
	defer over()
	for !reap(pid) && moment.Err() == nil {
		<-time.After(firstLook)
	}
}

// state is what a folder says of its operation.
type state struct {
	end        *ending
	progress   progress
	claimed    bool
	supervisor bool // it lives
	command    bool // it lives
}

func (s *state) told() progress {
	p := s.progress
	if s.claimed && !s.supervisor {
		p.Message = "the command still runs, but nobody listens to it any more"
	}
	return p
}

func (f folder) look() (*state, error) {
	var s state
	var by, command process
	claimed, err := f.read(claimFile, &by)
	if err != nil {
		return nil, err
	}
	s.claimed, s.supervisor = claimed, claimed && by.alive()
	if started, err := f.read(commandFile, &command); err != nil {
		return nil, err
	} else if started {
		s.command = command.alive()
	}
	if _, err := f.read(progressFile, &s.progress); err != nil {
		return nil, err
	}
	// The end is read last: a supervisor that was seen dead has written it before.
	var e ending
	ended, err := f.read(endFile, &e)
	if ended {
		s.end = &e
	}
	return &s, err
}

func failed(format string, args ...any) api.UpgradeResult {
	return api.UpgradeResult{Outcome: api.OutcomeFailed, Reason: api.ReasonUpgradeFailed, Message: fmt.Sprintf(format, args...)}
}

// keepFolders is how many operations that ended keep what their commands printed.
const keepFolders = 10

// sweep drops the folders of the operations that ended first.
func (d *Driver) sweep() error {
	entries, err := os.ReadDir(d.o.Dir)
	if err != nil {
		return err
	}
	type old struct {
		folder folder
		ended  time.Time
	}
	var ended []old
	for _, e := range entries {
		f := folder(filepath.Join(d.o.Dir, e.Name()))
		at, err := os.Stat(f.path(endFile))
		switch {
		case err == nil:
			ended = append(ended, old{f, at.ModTime()})
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
	slices.SortFunc(ended, func(a, b old) int { return b.ended.Compare(a.ended) })
	for _, o := range ended[min(len(ended), keepFolders):] {
		if err := os.RemoveAll(string(o.folder)); err != nil {
			return err
		}
	}
	return nil
}
