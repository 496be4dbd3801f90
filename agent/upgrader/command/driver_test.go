package command

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"flotilla/bus/bustest"
	"flotilla/core/api"
)

// agentVariable makes the test program an agent that runs one operation in that folder until it is
// killed.
const agentVariable = "FLOTILLA_TEST_AGENT"

func TestMain(m *testing.M) {
	if Supervise() {
		return
	}
	if dir := os.Getenv(agentVariable); dir != "" {
		agentProcess(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

func agentProcess(dir string) {
	d, err := New(options(dir))
	if err == nil {
		_, _, err = d.Run(context.Background(), operation(), func(r api.UpgradeResult) { fmt.Println(r.Percent) })
	}
	fmt.Fprintln(os.Stderr, "the agent was to be killed:", err)
}

// options run the script of a folder.
func options(dir string) Options {
	return Options{
		Dir: filepath.Join(dir, "commands"), Program: os.Args[0], Member: "berlin", Command: []string{"/bin/sh", filepath.Join(dir, "script"), "an argument"},
		Environment: map[string]string{"WHERE": dir}, Directory: dir, Timeout: time.Minute, Grace: time.Second,
	}
}

func operation() api.UpgradeOperation {
	return api.UpgradeOperation{
		ID: "u1/berlin/1", Run: "r", Attempt: 1, Type: api.UpgradeFull, ControlPlaneVersion: "1.37.1", DisableUnattendedUpgrades: true, TimeoutSeconds: 60,
		NodePools: []api.PoolUpgrade{{Pool: "np1", ToVersion: "1.37.1", To: "family-1.2.3"}, {Pool: "np2", ToVersion: "1.37.1", Newest: true}, {Pool: "np3", To: "family-1.2.3"}},
	}
}

// folderWith makes a folder with a script that counts in the file "runs" how often it was run.
func folderWith(t *testing.T, script string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "script"), []byte("echo run >> \"$WHERE/runs\"\n"+script), 0o600))
	return dir
}

func driver(t *testing.T, dir string, change ...func(*Options)) *Driver {
	t.Helper()
	o := options(dir)
	for _, f := range change {
		f(&o)
	}
	d, err := New(o)
	require.NoError(t, err)
	return d
}

func runs(t *testing.T, dir string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "runs"))
	require.NoError(t, err)
	return strings.Count(string(text), "run\n")
}

// heard collects what a driver reports.
type heard struct {
	mu   sync.Mutex
	list []api.UpgradeResult
}

func (h *heard) report(r api.UpgradeResult) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.list = append(h.list, r)
}

func (h *heard) last() api.UpgradeResult {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.list) == 0 {
		return api.UpgradeResult{}
	}
	return h.list[len(h.list)-1]
}

func TestSuccess(t *testing.T) {
	dir := folderWith(t, `
cat > input
env | grep ^FLOTILLA_ | sort > variables
echo "$1" > argument
echo 'a line of no interest'
echo '{"percent": 40, "message": "halfway", "pools": ["np1"]}'
while [ ! -e go ]; do sleep 0.02; done
echo '{"percent": 999, "message": "all is done", "pools": ["np1", "np2"]}'
`)
	d := driver(t, dir)
	var h heard
	var wg sync.WaitGroup
	wg.Go(func() {
		result, known, err := d.Run(t.Context(), operation(), h.report)
		require.NoError(t, err)
		require.True(t, known)
		require.Equal(t, api.UpgradeResult{Outcome: api.OutcomeSucceeded, Message: "all is done", Pools: []string{"np1", "np2"}}, result)
	})
	bustest.Eventually(t, func() error {
		if last := h.last(); last.Percent != 40 || last.Message != "halfway" || len(last.Pools) != 1 {
			return fmt.Errorf("heard %+v", last)
		}
		return nil
	})
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o600))
	wg.Wait()

	var input api.UpgradeOperation
	require.NoError(t, json.Unmarshal(content(t, dir, "input"), &input))
	require.Equal(t, operation(), input)
	require.Equal(t, "an argument\n", string(content(t, dir, "argument")))
	require.Equal(t, `FLOTILLA_ATTEMPT=1
FLOTILLA_CONTROL_PLANE_VERSION=1.37.1
FLOTILLA_DISABLE_UNATTENDED_UPGRADES=true
FLOTILLA_MEMBER=berlin
FLOTILLA_MEMBER_TIMEOUT_SECONDS=60
FLOTILLA_NODE_POOLS=np1 1.37.1 family-1.2.3
FLOTILLA_NODE_POOL_NAMES=np1 np2 np3
FLOTILLA_OPERATION=u1/berlin/1
FLOTILLA_RUN=r
FLOTILLA_TYPE=Full
`, string(content(t, dir, "variables")))

	again, known, err := d.Resume(t.Context(), operation(), h.report)
	require.NoError(t, err)
	require.True(t, known)
	require.Equal(t, api.OutcomeSucceeded, again.Outcome)
	_, _, err = d.Run(t.Context(), operation(), h.report)
	require.NoError(t, err)
	require.Equal(t, 1, runs(t, dir), "an operation is run once, however often it is asked for")
}

func content(t *testing.T, dir, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	require.NoError(t, err)
	return text
}

func TestHowCommandsEnd(t *testing.T) {
	for name, c := range map[string]struct {
		script  string
		change  func(*Options)
		outcome string
		want    string
	}{
		"failure":     {script: `echo '{"pools": ["np1"]}'; echo one >&2; echo two >&2; exit 3`, outcome: api.OutcomeFailed, want: "exit code 3: one | two; all it printed is in "},
		"later":       {script: `echo "the provider is busy" >&2; exit 75`, outcome: api.OutcomeBlocked, want: "try again later: the provider is busy"},
		"last words":  {script: `echo '{"message": "node n1 does not drain"}'; exit 1`, outcome: api.OutcomeFailed, want: "exit code 1: node n1 does not drain"},
		"signal":      {script: `kill -KILL $$`, outcome: api.OutcomeFailed, want: "ended by signal killed"},
		"no program":  {change: func(o *Options) { o.Directory = "/nowhere" }, outcome: api.OutcomeFailed, want: "could not be started"},
		"hang":        {script: `sleep 1000`, change: func(o *Options) { o.Timeout = 200 * time.Millisecond }, outcome: api.OutcomeFailed, want: "took longer than 200ms and was ended with all it had started"},
		"deaf":        {script: `trap '' TERM; sleep 1000 & wait; sleep 1000`, change: func(o *Options) { o.Timeout, o.Grace = 200*time.Millisecond, 200*time.Millisecond }, outcome: api.OutcomeFailed, want: "took longer than 200ms"},
		"tidies up":   {script: `trap 'echo "stopped at np1" >&2; exit 9' TERM; while :; do sleep 0.05; done`, change: func(o *Options) { o.Timeout = 300 * time.Millisecond }, outcome: api.OutcomeFailed, want: "stopped at np1; all it printed"},
		"broken JSON": {script: `echo '{"percent": '; echo '[1]'; echo '{"percent": "x"}'; echo '{"message": "good"}'`, outcome: api.OutcomeSucceeded, want: "good"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := folderWith(t, c.script)
			d := driver(t, dir, func(o *Options) {
				if c.change != nil {
					c.change(o)
				}
			})
			result, known, err := d.Run(t.Context(), operation(), func(api.UpgradeResult) {})
			require.NoError(t, err)
			require.True(t, known)
			require.Equal(t, c.outcome, result.Outcome, result.Message)
			require.Contains(t, result.Message, c.want)
			if c.outcome == api.OutcomeFailed {
				require.Equal(t, api.ReasonUpgradeFailed, result.Reason)
			}
		})
	}
}

// What a command started ends with it, whether it took too long or left it behind.
func TestTheWholeGroupEnds(t *testing.T) {
	for name, script := range map[string]string{
		"too long":    `sleep 1000 & echo $! > child; (sleep 1000; echo never) & sleep 1000`,
		"left behind": `sleep 1000 & echo $! > child`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := folderWith(t, script)
			d := driver(t, dir, func(o *Options) { o.Timeout = 500 * time.Millisecond })
			_, _, err := d.Run(bustest.Context(t), operation(), func(api.UpgradeResult) {})
			require.NoError(t, err, "it does not wait for what a command left behind")
			pid, err := strconv.Atoi(strings.TrimSpace(string(content(t, dir, "child"))))
			require.NoError(t, err)
			bustest.Eventually(t, func() error {
				if processOf(pid).Start != "" {
					return fmt.Errorf("process %d runs", pid)
				}
				return nil
			})
		})
	}
}

func TestTenMegabytesOfOutput(t *testing.T) {
	dir := folderWith(t, `
echo '{"percent": 1, "message": "it begins"}'
awk 'BEGIN { for (i = 0; i < 120000; i++) print "line " i " ..............................................................................." }'
awk 'BEGIN { for (i = 0; i < 1000000; i++) printf "0123456789"; print "" }'
awk 'BEGIN { for (i = 0; i < 20000; i++) print "complaint " i " .............................." > "/dev/stderr" }'
echo '{"percent": 99, "message": "it ends"}'
`)
	d := driver(t, dir)
	result, known, err := d.Run(t.Context(), operation(), func(api.UpgradeResult) {})
	require.NoError(t, err)
	require.True(t, known)
	require.Equal(t, api.UpgradeResult{Outcome: api.OutcomeSucceeded, Message: "it ends"}, result)
	f := d.folder(operation().ID)
	kept := 0
	for _, name := range []string{outputFile, outputFile + ".1"} {
		text := content(t, string(f), name)
		require.LessOrEqual(t, len(text), maxOutput/2)
		kept += len(text)
	}
	require.Greater(t, kept, maxOutput/3)
	require.Contains(t, string(content(t, string(f), outputFile)), "it ends", "the newest is kept")
}

// startAgent starts an agent in a process of its own and returns it when its command is so far.
func startAgent(t *testing.T, dir, percent string) *exec.Cmd {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), agentVariable+"="+dir)
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != percent {
	}
	require.NoError(t, lines.Err())
	return child
}

const waitsForGo = `
echo '{"percent": 30}'
while [ ! -e go ]; do sleep 0.02; done
echo '{"percent": 60, "message": "went"}'
`

func TestAgentCrashesInTheMiddle(t *testing.T) {
	dir := folderWith(t, waitsForGo)
	child := startAgent(t, dir, "30")
	require.NoError(t, child.Process.Kill())
	require.Error(t, child.Wait())

	d := driver(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	var h heard
	var wg sync.WaitGroup
	wg.Go(func() {
		_, known, err := d.Resume(ctx, operation(), h.report)
		require.ErrorIs(t, err, context.Canceled)
		require.True(t, known, "an agent that stops leaves the command alone")
	})
	bustest.Eventually(t, func() error {
		if h.last().Percent != 30 {
			return fmt.Errorf("heard %+v", h.last())
		}
		return nil
	})
	cancel()
	wg.Wait()

	require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o600))
	result, known, err := driver(t, dir).Resume(t.Context(), operation(), h.report)
	require.NoError(t, err)
	require.True(t, known)
	require.Equal(t, api.UpgradeResult{Outcome: api.OutcomeSucceeded, Message: "went"}, result)
	require.Equal(t, 1, runs(t, dir))
}

func TestSupervisorIsKilledToo(t *testing.T) {
	dir := folderWith(t, `echo $$ > pid`+waitsForGo)
	child := startAgent(t, dir, "30")
	require.NoError(t, child.Process.Kill())
	require.Error(t, child.Wait())
	d := driver(t, dir)
	var by process
	_, err := d.folder(operation().ID).read(claimFile, &by)
	require.NoError(t, err)
	require.True(t, by.alive())
	require.NoError(t, syscall.Kill(by.PID, syscall.SIGKILL))

	var h heard
	var wg sync.WaitGroup
	wg.Go(func() {
		_, known, err := d.Resume(t.Context(), operation(), h.report)
		require.NoError(t, err)
		require.False(t, known, "nobody knows its exit code")
	})
	bustest.Eventually(t, func() error {
		if !strings.Contains(h.last().Message, "nobody listens") {
			return fmt.Errorf("heard %+v", h.last())
		}
		return nil
	})
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o600))
	wg.Wait()
	require.Equal(t, 1, runs(t, dir))
	_, known, err := d.Run(t.Context(), operation(), h.report)
	require.NoError(t, err)
	require.False(t, known)
	require.Equal(t, 1, runs(t, dir), "not even Run runs it again")
}

// A pid that now belongs to another process is not taken for the supervisor.
func TestPidsComeBack(t *testing.T) {
	dir := folderWith(t, "")
	d := driver(t, dir)
	f := d.folder(operation().ID)
	self := processOf(os.Getpid())
	require.True(t, self.alive())
	require.NoError(t, f.create(claimFile, process{PID: self.PID, Start: self.Start + "0"}))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, known, err := d.Resume(ctx, operation(), func(api.UpgradeResult) {})
	require.NoError(t, err)
	require.False(t, known)
	require.NoFileExists(t, filepath.Join(dir, "runs"))
}

// An agent that was killed before any supervisor claimed the operation begins it when it comes back; one
// supervisor of several runs it.
func TestOnlyOneClaims(t *testing.T) {
	dir := folderWith(t, `sleep 0.2; echo '{"message": "once"}'`)
	d := driver(t, dir)
	require.NoError(t, d.folder(operation().ID).write(orderFile, d.order(operation())))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			result, known, err := d.Resume(t.Context(), operation(), func(api.UpgradeResult) {})
			require.NoError(t, err)
			require.True(t, known)
			require.Equal(t, "once", result.Message)
		})
	}
	wg.Wait()
	require.Equal(t, 1, runs(t, dir))
}

func TestProgramsThatAreNoSupervisors(t *testing.T) {
	dir := folderWith(t, "")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "other"), []byte("#!/bin/sh\necho 'what is this?' >&2\n"), 0o700)) //nolint:gosec // it is to be run
	d := driver(t, dir, func(o *Options) { o.Program, o.ClaimTime = filepath.Join(dir, "other"), 300*time.Millisecond })
	result, known, err := d.Run(t.Context(), operation(), func(api.UpgradeResult) {})
	require.NoError(t, err)
	require.True(t, known)
	require.Equal(t, api.OutcomeFailed, result.Outcome)
	require.Contains(t, result.Message, "did not begin within 300ms and nothing was changed: what is this?")
	require.NoError(t, supervise(d.folder(operation().ID)), "one that comes late finds the operation taken")
	require.NoFileExists(t, filepath.Join(dir, "runs"))
	d.o.Program = "/nowhere"
	op := operation()
	op.ID = "u1/berlin/2"
	result, _, err = d.Run(t.Context(), op, func(api.UpgradeResult) {})
	require.NoError(t, err)
	require.Contains(t, result.Message, "starting the upgrade: ")
}

func TestOldFoldersGo(t *testing.T) {
	dir := folderWith(t, "")
	d := driver(t, dir)
	op := operation()
	for i := range keepFolders + 3 {
		op.ID = fmt.Sprintf("u1/berlin/%d", i)
		_, _, err := d.Run(t.Context(), op, func(api.UpgradeResult) {})
		require.NoError(t, err)
	}
	left, err := os.ReadDir(d.o.Dir)
	require.NoError(t, err)
	require.Len(t, left, keepFolders+1)
	require.FileExists(t, d.folder(op.ID).path(endFile))
}

func TestInventory(t *testing.T) {
	dir := t.TempDir()
	inventory := func(script string) (api.MemberInventory, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		return driver(t, dir, func(o *Options) { o.Inventory = []string{"/bin/sh", "-c", script} }).Inventory(ctx)
	}
	i, err := inventory(`echo '{"controlPlaneVersion": "'$FLOTILLA_MEMBER'", "nodePools": [{"name": "np1"}]}'`)
	require.NoError(t, err)
	require.Equal(t, api.MemberInventory{ControlPlaneVersion: "berlin", NodePools: []api.NodePoolFacts{{Name: "np1"}}}, i)
	i, err = driver(t, dir).Inventory(t.Context())
	require.NoError(t, err)
	require.Zero(t, i)
	for script, want := range map[string]string{
		`echo no`:                            "it printed no MemberInventory",
		`echo one >&2; echo why >&2; exit 1`: "exit status 1: one | why",
		`head -c 2000000 /dev/zero`:          "more than 1048576 bytes",
		`sleep 1000 & sleep 1000`:            "context deadline exceeded",
	} {
		_, err := inventory(script)
		require.ErrorContains(t, err, want, script)
	}
}

func TestNewLooksForTheCommands(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "here"), []byte("#!/bin/sh\n"), 0o700))
	for command, want := range map[string]string{
		"/bin/sh": "", "sh": "", "./here": "", "./gone": "no such file", "/nowhere/upgrade": "no such file", "no-such-program-at-all": "executable file not found",
	} {
		_, err := New(Options{Dir: dir, Command: []string{command}, Directory: dir})
		if want == "" {
			require.NoError(t, err, command)
			continue
		}
		require.ErrorContains(t, err, want, command)
	}
}
