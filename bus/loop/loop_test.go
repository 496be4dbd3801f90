package loop

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// diary notes when each key was looked at, in milliseconds since its start.
type diary struct {
	mu    sync.Mutex
	start time.Time
	lines []string
}

func newDiary() *diary { return &diary{start: time.Now()} }

func (d *diary) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf("%d ", time.Since(d.start).Milliseconds())+fmt.Sprintf(format, args...))
}

func run(t *testing.T, q *Queue, work Work) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { q.Run(ctx, work) })
	return func() { cancel(); running.Wait() }
}

func TestKeysThatWaitAreCoalesced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, q := newDiary(), New(Options{})
		for range 3 {
			q.Add("a")
			q.Add("b")
		}
		require.Equal(t, 2, q.Len())
		stop := run(t, q, func(_ context.Context, key string) (time.Time, error) {
			d.note("%s", key)
			return time.Time{}, nil
		})
		synctest.Wait()
		stop()
		require.Equal(t, []string{"0 a", "0 b"}, d.lines)
	})
}

func TestRunsAreToldOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDiary()
		q := New(Options{Runs: func(key string) { d.note("%s runs", key) }})
		q.Add("a")
		stop := run(t, q, func(_ context.Context, key string) (time.Time, error) {
			d.note("%s", key)
			return time.Time{}, nil
		})
		synctest.Wait()
		q.Add("a")
		synctest.Wait()
		stop()
		require.Equal(t, []string{"0 a runs", "0 a", "0 a runs", "0 a"}, d.lines)
	})
}

func TestOneWorkerPerKeyAndOneMoreLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, q := newDiary(), New(Options{Workers: 4})
		q.Add("a")
		stop := run(t, q, func(_ context.Context, key string) (time.Time, error) {
			d.note("%s begins", key)
			<-time.After(10 * time.Millisecond)
			d.note("%s ends", key)
			return time.Time{}, nil
		})
		<-time.After(5 * time.Millisecond)
		q.Add("a")
		q.Add("a")
		q.Add("b")
		<-time.After(time.Second)
		stop()
		require.Equal(t, []string{
			"0 a begins", "5 b begins", "10 a ends", "10 a begins", "15 b ends", "20 a ends",
		}, d.lines)
	})
}

// A worker is there while there is work, up to as many as were asked for; at rest the queue is Run alone.
func TestWorkersComeWithWorkAndGoWithIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, release := New(Options{Workers: 3}), make(chan struct{})
		q.Add("before")
		at := func() int { synctest.Wait(); return goroutines() }
		stop := run(t, q, func(context.Context, string) (time.Time, error) {
			<-release
			return time.Time{}, nil
		})
		require.Equal(t, 2, at(), "Run, and a worker for the key that waited")
		for _, key := range []string{"a", "b", "c", "d", "c"} {
			q.Add(key)
		}
		require.Equal(t, 4, at(), "as many workers as may be")
		require.Equal(t, 2, q.Len())
		for left := 5; left > 0; left-- {
			release <- struct{}{}
			require.Equal(t, 1+min(left-1, 3), at(), "%d keys are left", left-1)
		}
		q.AddAt("a", time.Now().Add(time.Second))
		require.Equal(t, 1, at(), "a key that is due later needs nobody")
		<-time.After(2 * time.Second)
		require.Equal(t, 2, at())
		release <- struct{}{}
		stop()
		require.Zero(t, at())
		q.Add("after")
		require.Zero(t, at())
	})
}

// goroutines counts those in Run and those of workers. The process has others, which may be about to end.
func goroutines() (n int) {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for stack := range strings.SplitSeq(string(stacks), "\n\n") {
		if strings.Contains(stack, "loop.(*Queue).Run(") || strings.Contains(stack, "loop.(*Queue).worker(") {
			n++
		}
	}
	return n
}

func TestRecheckAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, q := newDiary(), New(Options{})
		q.Add("a")
		stop := run(t, q, func(_ context.Context, key string) (time.Time, error) {
			d.note("%s", key)
			if time.Since(d.start) > 0 {
				return time.Time{}, nil
			}
			return d.start.Add(100 * time.Millisecond), nil
		})
		<-time.After(time.Second)
		stop()
		require.Equal(t, []string{"0 a", "100 a"}, d.lines)
	})
}

func TestTheEarliestTimeWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, q := newDiary(), New(Options{})
		q.AddAt("a", d.start.Add(50*time.Millisecond))
		q.AddAt("a", d.start.Add(20*time.Millisecond))
		q.AddAt("a", d.start.Add(70*time.Millisecond))
		stop := run(t, q, func(_ context.Context, key string) (time.Time, error) {
			d.note("%s", key)
			return time.Time{}, nil
		})
		<-time.After(time.Second)
		stop()
		require.Equal(t, []string{"20 a"}, d.lines)
	})
}

func TestAWakeReplacesTheRecheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, q := newDiary(), New(Options{})
		q.AddAt("a", d.start.Add(50*time.Millisecond))
		q.Add("a")
		stop := run(t, q, func(_ context.Context, key string) (time.Time, error) {
			d.note("%s", key)
			return time.Time{}, nil
		})
		<-time.After(time.Second)
		stop()
		require.Equal(t, []string{"0 a"}, d.lines)
		require.Empty(t, q.items, "a key nobody waits for costs nothing")
	})
}

func TestErrorsBackOffWithJitter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDiary()
		jitter := []float64{0, 0.5, 0, 0}
		q := New(Options{
			MinDelay: 10 * time.Millisecond, MaxDelay: 40 * time.Millisecond,
			Jitter: func() float64 {
				j := jitter[0]
				jitter = jitter[1:]
				return j
			},
			Failed: func(key string, err error, delay time.Duration) { d.note("%s: %v, again in %s", key, err, delay) },
		})
		q.Add("a")
		fails := 4
		stop := run(t, q, func(context.Context, string) (time.Time, error) {
			if fails == 0 {
				d.note("done")
				return time.Time{}, nil
			}
			fails--
			return time.Time{}, errors.New("no luck")
		})
		<-time.After(time.Second)
		stop()
		require.Equal(t, []string{
			"0 a: no luck, again in 10ms",
			"10 a: no luck, again in 15ms",
			"25 a: no luck, again in 40ms",
			"65 a: no luck, again in 40ms",
			"105 done",
		}, d.lines)
	})
}

func TestAWakeCutsABackOffShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, q := newDiary(), New(Options{MinDelay: time.Second})
		q.Add("a")
		stop := run(t, q, func(context.Context, string) (time.Time, error) {
			d.note("a")
			if len(d.lines) == 1 {
				return time.Time{}, errors.New("no luck")
			}
			return time.Time{}, nil
		})
		<-time.After(5 * time.Millisecond)
		q.Add("a")
		<-time.After(5 * time.Second)
		stop()
		require.Equal(t, []string{"0 a", "5 a"}, d.lines)
	})
}

func TestRunWaitsForItsWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed := 0
		q := New(Options{Workers: 2, Failed: func(string, error, time.Duration) { failed++ }})
		q.Add("a")
		q.Add("b")
		q.AddAt("c", time.Now().Add(time.Hour))
		ended := 0
		var mu sync.Mutex
		stop := run(t, q, func(ctx context.Context, _ string) (time.Time, error) {
			<-ctx.Done()
			<-time.After(10 * time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			ended++
			return time.Time{}, ctx.Err()
		})
		synctest.Wait()
		stop()
		require.Equal(t, 2, ended)
		require.Zero(t, failed, "an error that the end caused is not reported")
		q.Add("d")
		require.Zero(t, q.Len(), "a stopped queue takes nothing")
	})
}

// News that comes while a key fails does not wait out a delay that has grown long.
func TestNewsDuringAFailureIsSeenSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options{MinDelay: time.Second, MaxDelay: time.Hour, Jitter: func() float64 { return 0 }})
		ctx, cancel := context.WithCancel(t.Context())
		var looks []time.Duration
		began := time.Now()
		q.Add("web")
		q.Run(ctx, func(context.Context, string) (time.Time, error) {
			looks = append(looks, time.Since(began))
			switch len(looks) {
			case 5:
				q.Add("web")
			case 6:
				cancel()
			}
			return time.Time{}, errors.New("broken")
		})
		seconds := func(n ...int) (out []time.Duration) {
			for _, s := range n {
				out = append(out, time.Duration(s)*time.Second)
			}
			return out
		}
		require.Equal(t, seconds(0, 1, 3, 7, 15, 16), looks)
	})
}
