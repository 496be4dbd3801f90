package gate_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"flotilla/bus/gate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// from is a connection from an address of its own.
type from struct {
	net.Conn
	address *net.TCPAddr
	closed  int
}

// RemoteAddr is the address.
func (f *from) RemoteAddr() net.Addr { return f.address }

// Close counts.
func (f *from) Close() error { f.closed++; return nil }

// queue is a listener with connections that have come.
type queue struct {
	net.Listener
	come []*from
}

// Accept returns the next one.
func (q *queue) Accept() (net.Conn, error) {
	if len(q.come) == 0 {
		return nil, net.ErrClosed
	}
	c := q.come[0]
	q.come = q.come[1:]
	return c, nil
}

// let is a connection that was let in.
type let struct {
	conn           net.Conn
	from           *from
	network, whose string // whose: a person, if anybody
}

// ways are a gate and who came through it, in the order in which they belong to whom they do.
type ways struct {
	t    *testing.T
	gate *gate.Gate
	in   *queue
	all  []*let
}

func newWays(t *testing.T, most int) *ways {
	t.Helper()
	in := &queue{}
	return &ways{t: t, gate: gate.New(in, most), in: in}
}

// come has a connection come from an address.
func (w *ways) come(address string) *let {
	w.t.Helper()
	c := &from{address: &net.TCPAddr{IP: net.ParseIP(address), Port: 1}}
	w.in.come = append(w.in.come, c)
	conn, err := w.gate.Accept()
	require.NoError(w.t, err)
	l := &let{conn: conn, from: c, network: gate.Network(c.address.String())}
	w.all = append(w.all, l)
	return l
}

// belongs has a request on a connection be a person's.
func (w *ways) belongs(l *let, person string) {
	server := &http.Server{} //nolint:gosec // it serves nothing
	gate.Introduce(server)
	gate.Belongs(server.ConnContext(context.Background(), l.conn), person)
	if l.from.closed == 0 && l.whose != person {
		l.whose = person
		at := slices.Index(w.all, l)
		w.all = append(slices.Delete(w.all, at, at+1), l)
	}
}

// open are the connections that are open, by whoever holds them: "eve 2, 10.0.0.1 1".
func (w *ways) open() string {
	held := map[string]int{}
	for _, l := range w.all {
		if l.from.closed == 0 {
			held[l.holder()]++
		}
	}
	said := make([]string, 0, len(held))
	for who, n := range held {
		said = append(said, fmt.Sprint(who, " ", n))
	}
	slices.Sort(said)
	return strings.Join(said, ", ")
}

func (l *let) holder() string {
	if l.whose != "" {
		return l.whose
	}
	return l.network
}

// Whoever comes is let in, whatever others hold: the one that holds most makes place, of strangers while these hold more than a quarter,
// else of people (H47).
func TestWhoHoldsMostMakesPlace(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		come []string // "ADDRESS", or "ADDRESS PERSON"
		open string
		next gate.Holder
	}{
		"one network": {
			slices.Repeat([]string{"10.0.0.1"}, 20), "10.0.0.1 8", gate.Holder{Name: "10.0.0.1", Open: 8},
		},
		"a stranger beside another": {
			append(slices.Repeat([]string{"10.0.0.1"}, 20), "10.0.0.2"), "10.0.0.1 7, 10.0.0.2 1", gate.Holder{Name: "10.0.0.1", Open: 7},
		},
		"one network, of which a person is": {
			append([]string{"10.0.0.1 eve"}, slices.Repeat([]string{"10.0.0.1"}, 20)...), "10.0.0.1 7, eve 1", gate.Holder{Name: "10.0.0.1", Open: 7},
		},
		"a person beside another": {
			append(slices.Repeat([]string{"10.0.0.1 eve"}, 20), "10.0.0.2 vic", "10.0.0.2"), "10.0.0.2 1, eve 6, vic 1", gate.Holder{Name: "eve", Person: true, Open: 6},
		},
		"people leave a quarter to strangers": {
			append(slices.Repeat([]string{"10.0.0.1 eve"}, 20), slices.Repeat([]string{"10.0.0.2"}, 20)...), "10.0.0.2 2, eve 6", gate.Holder{Name: "eve", Person: true, Open: 6},
		},
		"addresses of one IPv6 network": {
			[]string{"2001:db8::1", "2001:db8::2", "10.0.0.1", "10.0.0.1", "10.0.0.1", "2001:db8::3", "2001:db8::4", "10.0.0.2", "10.0.0.3"},
			"10.0.0.1 3, 10.0.0.2 1, 10.0.0.3 1, 2001:db8::/64 3",
			gate.Holder{Name: "2001:db8::/64", Open: 3},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWays(t, 8)
			for _, who := range c.come {
				address, person, named := strings.Cut(who, " ")
				l := w.come(address)
				require.Zero(t, l.from.closed, "it is let in")
				if named {
					w.belongs(l, person)
				}
			}
			require.Equal(t, c.open, w.open())
			next, full := w.gate.Full()
			require.True(t, full)
			require.Equal(t, c.next, next)
			require.Equal(t, 8, w.gate.Most())
		})
	}
}

// A connection that is closed, how often ever, gives one place; one that had to make place gives none.
func TestAPlaceIsGivenOnce(t *testing.T) {
	t.Parallel()
	w := newWays(t, 2)
	first := w.come("10.0.0.1")
	second := w.come("10.0.0.1")
	require.NoError(t, second.conn.Close())
	_ = second.conn.Close()
	_, full := w.gate.Full()
	require.False(t, full)
	w.come("10.0.0.1")
	w.come("10.0.0.1")
	require.Equal(t, 1, first.from.closed, "it made place")
	require.NoError(t, first.conn.Close())
	w.belongs(first, "eve")
	w.come("10.0.0.1")
	require.Equal(t, "10.0.0.1 2", w.open())
}

// Of any history: so many are open and no more, and who had to make place was the oldest of whoever held most.
func TestAnyHistoryOfConnections(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // a seed that is told
		most := 1 + r.IntN(12)
		w := newWays(t, most)
		for range 200 {
			before := w.held()
			switch of := r.IntN(10); {
			case of < 5 || len(before) == 0:
				came := w.come(fmt.Sprint("10.0.0.", r.IntN(5)))
				require.Equal(t, expected(append(before, came), most), w.held(), "seed %d", seed)
				require.Zero(t, came.from.closed, "seed %d: whoever comes is let in", seed)
			case of < 8:
				w.belongs(before[r.IntN(len(before))], fmt.Sprint("p", r.IntN(4)))
				require.Len(t, w.held(), len(before), "seed %d", seed)
			default:
				out := before[r.IntN(len(before))]
				require.NoError(t, out.conn.Close())
			}
			_, full := w.gate.Full()
			require.Equal(t, len(w.held()) == most, full, "seed %d", seed)
		}
	}
}

// held are the connections that are open.
func (w *ways) held() []*let {
	w.all = slices.DeleteFunc(w.all, func(l *let) bool { return l.from.closed > 0 })
	return slices.Clone(w.all)
}

// expected are those of some connections that stay, of which the last has just come.
func expected(all []*let, most int) []*let {
	if len(all) <= most {
		return all
	}
	strangers, held := 0, map[string]int{}
	for _, l := range all {
		held[l.holder()]++
		if l.whose == "" {
			strangers++
		}
	}
	concerned := func(l *let) bool { return (l.whose == "") == (strangers > max(most/4, 1) || strangers == len(all)) }
	out := -1
	for i, l := range all {
		if concerned(l) && (out < 0 || held[l.holder()] > held[all[out].holder()]) {
			out = i
		}
	}
	return slices.Delete(all, out, out+1)
}

// Of those who come back as often as they are closed so many are let in and no more; somebody from another network is let in.
func TestPlacesChangeHandsAtARate(t *testing.T) {
	t.Parallel()
	const comes, most, rate = 4000, 4, 100
	in := &queue{}
	for i := range comes {
		in.come = append(in.come, &from{address: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 1 + i}})
	}
	in.come = append(in.come, &from{address: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 2), Port: 1}})
	all, let, began := slices.Clone(in.come), map[net.Addr]bool{}, time.Now()
	g := gate.New(in, most)
	for {
		conn, err := g.Accept()
		if errors.Is(err, net.ErrClosed) {
			break
		}
		require.NoError(t, err)
		let[conn.RemoteAddr()] = true
	}
	require.LessOrEqual(t, len(let), most+rate+int(rate*time.Since(began).Seconds())+2)
	open := 0
	for _, c := range all {
		require.LessOrEqual(t, c.closed, 1)
		open += 1 - c.closed
		require.True(t, let[c.address] || c.closed == 1, "who is not let in is closed")
	}
	require.Equal(t, most, open)
	require.True(t, let[all[comes].address])
	require.Zero(t, all[comes].closed)
}

// Whoever comes to a server that is full is answered, and requests say whose a connection is also where it speaks TLS.
func TestAServerThatIsFullAnswers(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(*httptest.Server){"plain": (*httptest.Server).Start, "TLS": (*httptest.Server).StartTLS} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				gate.Belongs(r.Context(), "eve")
				_, _ = io.WriteString(w, "ok")
			}))
			g := gate.New(server.Listener, 2)
			server.Listener = g
			gate.Introduce(server.Config)
			start(server)
			t.Cleanup(server.Close)
			for range 10 {
				silent, err := net.Dial("tcp", g.Addr().String())
				require.NoError(t, err)
				t.Cleanup(func() { _ = silent.Close() })
			}
			answer, err := server.Client().Get(server.URL)
			require.NoError(t, err)
			text, err := io.ReadAll(answer.Body)
			require.NoError(t, err)
			require.NoError(t, answer.Body.Close())
			require.Equal(t, "ok", string(text))
			next, full := g.Full()
			require.True(t, full)
			require.Equal(t, gate.Holder{Name: "eve", Person: true, Open: 1}, next)
		})
	}
}
