package faults

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/tests/elsewhen"
	"flotilla/tests/rig"
)

var (
	seedFlag  = flag.Int64("faults.seed", 0, "seed of the first campaign, the next has the next; 0: any")
	runsFlag  = flag.Int("faults.runs", 0, "how many campaigns; 0: a few of known seeds")
	modeFlag  = flag.String("faults.mode", "", "single or cluster; empty: every fourth is of a cluster")
	forFlag   = flag.Duration("faults.for", 5*time.Second, "for how long the faults of a campaign go on")
	soakFlag  = flag.Duration("faults.soak", 0, "campaigns one after the other, for so long, instead of a number of them")
	buildFlag = flag.String("faults.tags", "", "build tags of the hub: unfenced takes away what keeps a deposed leader from writing, uncensused what tells that state lost something")
)

// Where the programs under test are.
var hubBinary, agentBinary string

func TestMain(m *testing.M) {
	if text := os.Getenv(brokerVariable); text != "" {
		if err := serveBroker(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	flag.Parse()
	folder, err := os.MkdirTemp("", "flotilla-faults-")
	if err == nil {
		err = os.Setenv("TMPDIR", folder) // what tests that were interrupted leave behind goes with it
	}
	if err == nil && os.Getenv(interruptedVariable) == "" {
		hubBinary, agentBinary = filepath.Join(folder, "hub"), filepath.Join(folder, "agent")
		err = rig.Build(folder, []string{"-tags", *buildFlag}, "flotilla/hub", "flotilla/agent")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "building the programs under test:", err)
		os.Exit(1)
	}
	began := elsewhen.Now()
	report := func() { fmt.Print(campaigns.Report(elsewhen.Since(began), kinds())) }
	stopped := whenStopped(func() {
		report()
		rig.KillAll()
		_ = os.RemoveAll(folder)
	})
	code := m.Run()
	stopped()
	report()
	_ = os.RemoveAll(folder)
	os.Exit(code)
}

// campaigns are those of TestCampaign, reported after all else that tests print.
var campaigns Summary

// whenStopped does something when the process is interrupted or ended, before it ends as it would have.
func whenStopped(do func()) (done func()) {
	stopped := make(chan os.Signal, 1)
	signal.Notify(stopped, os.Interrupt, syscall.SIGTERM)
	go func() {
		if s, was := (<-stopped).(syscall.Signal); was {
			do()
			signal.Reset(s)
			_ = syscall.Kill(os.Getpid(), s)
		}
	}()
	return func() { signal.Stop(stopped); close(stopped) }
}

// TestCampaign runs fleets, breaks them, and checks what everybody saw. One of them is repeated with
// -faults.seed and -faults.runs=1.
func TestCampaign(t *testing.T) {
	seed, runs := *seedFlag, *runsFlag
	switch {
	case runs == 0 && seed == 0 && *soakFlag == 0:
		seed, runs = 3, 2 // one of each mode
	case seed == 0:
		seed = elsewhen.Now().UnixMilli() % 1e9 * 1000
	}
	began := elsewhen.Now()
	for n := int64(0); n < int64(runs) || elsewhen.Since(began) < *soakFlag; n++ {
		mode := *modeFlag
		if mode == "" {
			mode = modeSingle
			if (seed+n)%4 == 0 {
				mode = modeCluster
			}
		}
		name := fmt.Sprintf("%s-%d", mode, seed+n)
		t.Run(name, func(t *testing.T) {
			if *soakFlag == 0 {
				t.Parallel()
			}
			random := rand.New(rand.NewPCG(uint64(seed+n), 0))
			steps := draw(random, mode, *forFlag)
			r := Result{Name: name, Again: again(t, mode, seed+n), Faults: steps.kinds()}
			defer func() {
				r.Failed = t.Failed()
				fmt.Println(campaigns.Add(r))
			}()
			r.History, r.Broken = campaign(t, mode, seed+n, steps)
		})
	}
}

// TestStoppedLeaders stops the process that leads for longer than its lease, again and again, with writes under
// way: it goes on to find that another one leads.
func TestStoppedLeaders(t *testing.T) {
	for n := range max(1, *runsFlag) {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			campaign(t, modeCluster, *seedFlag+int64(n), plan{
				{time.Second, 4500 * time.Millisecond, stop, leader},
				{7 * time.Second, 4500 * time.Millisecond, stop, leader},
			})
		})
	}
}

// campaign is one fleet and what happens to it.
func campaign(t *testing.T, mode string, seed int64, steps plan) (*History, []Violation) {
	t.Helper()
	return campaignOn(t, nil, mode, seed, steps)
}

// again is what repeats a campaign.
func again(t *testing.T, mode string, seed int64) string {
	test, _, _ := strings.Cut(t.Name(), "/")
	return fmt.Sprintf("go test ./tests/faults -run %s -faults.seed=%d -faults.runs=1 -faults.mode=%s -faults.for=%s -v", test, seed, mode, *forFlag)
}

// campaignOn is a campaign whose hub keeps its data on a disk.
func campaignOn(t *testing.T, disk *bustest.Disk, mode string, seed int64, steps plan) (*History, []Violation) {
	t.Helper()
	t.Logf("%s\n%s", again(t, mode, seed), steps)
	c := &run{fleet: startFleet(t, mode, rehearsal, disk), began: elsewhen.Now(), take: &Recorder{}}
	c.setUp(t)
	working, rest := context.WithCancel(context.WithoutCancel(t.Context()))
	defer rest()
	watched, leave := context.WithCancel(context.WithoutCancel(t.Context()))
	defer leave()
	var operating sync.WaitGroup
	operating.Go(func() { c.operate(t, watched) })
	stopped := c.startWork(t, working, seed)
	c.fleet.inflict(t, steps, c.take, c.since)
	rest()
	stopped()
	c.settle(t)
	leave()
	operating.Wait()
	history := c.take.History()
	t.Logf("%d writes, %d readings, %d changes of members, %d updates in %s",
		len(history.Writes), len(history.Reads), len(history.Shown), len(history.Spells), c.since().Round(time.Millisecond))
	broken := Check(history, limits())
	for _, violation := range broken {
		t.Errorf("seed %d: %s", seed, violation)
	}
	return history, broken
}

// limits are what placed allows.
func limits() Limits {
	l := Limits{MaxUnavailable: map[string]int{}}
	for n := range scaledFrom {
		l.MaxUnavailable[appName(n)] = 1
	}
	return l
}

// run is a campaign that is under way.
type run struct {
	fleet    *fleet
	began    time.Time
	take     *Recorder
	reader   *reader
	watchers []*watcher
	writer   *writer
	turns    atomic.Int64
}

func (c *run) since() time.Duration { return elsewhen.Since(c.began) }

// setUp makes what is to be changed, and who looks at it.
func (c *run) setUp(t *testing.T) {
	t.Helper()
	c.writer = &writer{name: "setup", conn: c.connect(t, "setup"), take: c.take, since: c.since, turns: &c.turns}
	c.reader = &reader{conn: c.writer.conn, take: c.take, since: c.since}
	for _, member := range memberNames {
		c.watchers = append(c.watchers, &watcher{
			member: member, folder: c.fleet.folder(member), take: c.take, began: c.began,
			held: map[string]string{}, spells: map[string]*spell{},
		})
	}
	for n := range apps {
		require.NoError(t, c.writer.setUp(t.Context(), appName(n)))
	}
	c.fleet.mend = func(t testing.TB, told string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
		defer cancel()
		require.NoError(t, c.restock(t, ctx, c.writer, told), "not made again within %s", 2*patience)
	}
}

func (c *run) connect(t *testing.T, name string) *bus.Conn {
	t.Helper()
	conn := c.fleet.connect(t, name)
	t.Cleanup(conn.Close)
	return conn
}

// startWork lets everybody work until ctx ends; stopped returns when they have ended.
func (c *run) startWork(t *testing.T, ctx context.Context, seed int64) (stopped func()) {
	t.Helper()
	var working sync.WaitGroup
	for n := range clients {
		w := &writer{name: fmt.Sprintf("client-%d", n), conn: c.connect(t, fmt.Sprintf("client-%d", n)), take: c.take, since: c.since, turns: &c.turns}
		working.Go(func() { w.work(ctx, rand.New(rand.NewPCG(uint64(seed), uint64(n+1)))) })
	}
	working.Go(func() { c.reader.work(ctx) })
	for _, w := range c.watchers {
		working.Go(func() { w.work(ctx) })
	}
	return working.Wait
}

// settle waits until every member holds what is placed on it, and takes down what is there then, or at the end of
// its patience.
func (c *run) settle(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(4 * pace)
	defer tick.Stop()
	var last error
	for {
		found, err := c.look(ctx)
		if err == nil {
			err = holds(found)
			c.take.Note(func(h *History) { h.End = found })
		}
		if err == nil {
			return
		}
		if last == nil || ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			t.Errorf("the fleet did not settle within %s: %v%s", patience, last, c.reader.saysOf(t.Context()))
			return
		case <-tick.C:
		}
	}
}

func holds(found End) error {
	var lines []string
	for _, v := range Check(&History{End: found}, Limits{}) {
		lines = append(lines, v.String())
	}
	if len(lines) > 0 {
		return errors.New(strings.Join(lines, "\n"))
	}
	return nil
}

// look reads what is there now.
func (c *run) look(ctx context.Context) (End, error) {
	found := End{Members: memberNames, Objects: map[string]State{}, Placed: map[string]int{}, Held: map[string]map[string]string{}}
	for n := range apps {
		app := appName(n)
		placed, there, err := c.reader.read(ctx, placementOf(app))
		if err != nil || !there {
			return found, fmt.Errorf("placement %s, there: %t: %w", app, there, err)
		}
		if s := placed.Status.Counts; s.Current != placed.Spec.Policy.NumberOfClusters || s.Available != s.Current || s.Failed > 0 {
			return found, fmt.Errorf("placement %s is to be on %d members, and says %+v", app, placed.Spec.Policy.NumberOfClusters, s)
		}
		for _, ref := range contentOf(app) {
			found.Placed[ref.String()] = placed.Spec.Policy.NumberOfClusters
			o, there, err := c.reader.read(ctx, ref)
			if err != nil {
				return found, err
			}
			if there {
				found.Objects[ref.String()] = State{Object: ref.String(), Request: o.Metadata.Annotations[mark]}
			}
		}
	}
	for _, w := range c.watchers {
		found.Held[w.member] = w.look()
	}
	return found, nil
}
