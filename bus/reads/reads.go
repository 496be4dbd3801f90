package reads

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"flotilla/bus"
	"flotilla/bus/loop"
	"flotilla/bus/said"
	"flotilla/core/api"
	"flotilla/core/pace"
	"flotilla/subjects"
)

const (
	// mostWaiting is how many reads of one member wait at most while one is answered, and mostOfLeaf how many of all members behind a leaf node.
	mostWaiting, mostOfLeaf = 64, 1024
	// mostAtOnce is how many reads of all members are answered at once.
	mostAtOnce = 32
	// mostPending is how many reads of all members are not looked at yet before the connection reads no more for a moment.
	mostPending, mostPendingBytes = 4 << 10, 16 << 20
	// unit is what reads are counted in, bytes.
	unit = 4 << 10
	// sweepEvery is how often those who read nothing any more are forgotten.
	sweepEvery = time.Minute
)

// sent is what one member is sent: 8 MiB at once, and 16 MiB a second.
var sent = pace.Rate{Burst: 8 << 20 / unit, Every: time.Second * unit / (16 << 20)}

// refused is how often it is said that a read of one member is refused.
var refused = pace.Rate{Burst: 200, Every: 10 * time.Millisecond}

// Statuses of answers of a hub that has nothing to answer, as servers give them.
const (
	statusMany    = "429"
	statusNothing = "408"
	statusLate    = "504"
)

// Reader answers reads over a connection of its own, so that what is sent slowly holds nothing else of the hub up.
type Reader struct {
	conn  *bus.Conn
	slots chan struct{}
	cache *cache
	cut   Cut
	// readings are the subjects of reads.
	readings subjects.Readings
	begin    func(d *desk) // to answer what waits at a desk
	end      context.CancelFunc
	asked    atomic.Pointer[nats.Subscription]
	left     chan struct{} // closed once no read comes any more

	mu      sync.Mutex
	running sync.WaitGroup
	desks   map[string]*desk // by the object whose they are
	swept   time.Time
	held    held
}

// desk is where reads of one member wait.
type desk struct {
	waiting []read
	busy    bool
	sent    pace.Bucket
	refused pace.Bucket // refusals that said why
}

// read is what was asked for. It is no message: one that is kept keeps all that came after it.
type read struct {
	stream, subject, reply string
	asked                  time.Time
}

// Cut cuts the connections of the agent of a member, or of a leaf node, of a name.
type Cut func(name string, leaf bool)

// Serve connects as a hub, retrying until ctx ends, and answers reads until Stop. Cut, nil for nothing, is called for who asks for more than may wait: they would
// go on to ask faster than they are refused, and servers would cut the connection of the reader.
func Serve(ctx context.Context, o bus.Options, cut Cut) (*Reader, error) {
	r := &Reader{cut: cut, slots: make(chan struct{}, mostAtOnce), left: make(chan struct{}), desks: map[string]*desk{}, held: held{}}
	var err error
	if r.conn, err = bus.ConnectHub(ctx, o, brake(r.full).option(o.Server)); err != nil {
		return nil, err
	}
	f := r.conn.Fleet
	r.readings, r.cache = f.Readings(), newCache(f.BucketStream(subjects.Content))
	lasts, cancel := context.WithCancel(context.Background())
	r.begin, r.end = func(d *desk) { r.running.Go(func() { r.serve(lasts, d) }) }, cancel
	asked, err := r.conn.NC.QueueSubscribe(f.AllReadings(), "hubs", r.take)
	if err == nil {
		asked.SetClosedHandler(func(string) { close(r.left) })
		err = errors.Join(asked.SetPendingLimits(-1, -1), r.conn.NC.Flush()) // the brake sees to both
	}
	if err != nil {
		cancel()
		r.conn.Close()
		return nil, fmt.Errorf("answering what agents read: %w", err)
	}
	r.asked.Store(asked)
	return r, nil
}

// OnClosed is that of the connection over which reads are answered, see bus.Conn.
func (r *Reader) OnClosed(f func(error)) { r.conn.OnClosed(f) }

// full says that so many reads are not looked at yet that no more are to come.
func (r *Reader) full() bool {
	asked := r.asked.Load()
	if asked == nil {
		return false
	}
	pending, bytes, err := asked.Pending()
	return err == nil && (pending >= mostPending || bytes >= mostPendingBytes)
}

// leaveWithin is how long at most it takes to leave reads to other hubs.
const leaveWithin = time.Second

// leave has the servers give reads to other hubs, so that none goes to a connection that is closed.
func (r *Reader) leave() {
	if r.asked.Load().Drain() != nil {
		return // no server hears it
	}
	select {
	case <-r.left:
	case <-time.After(leaveWithin):
	}
}

// Stop closes the connection, and returns once nothing is answered any more.
func (r *Reader) Stop() {
	r.leave()
	r.end()
	for _, of := range r.drop() {
		r.refuse(of.reply, bus.StatusNoResponders, "") // another hub answers
	}
	_ = r.conn.NC.FlushTimeout(leaveWithin)
	r.conn.Close()
	r.running.Wait()
}

// drop takes all that waits; nothing begins any more.
func (r *Reader) drop() (waiting []read) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range r.desks {
		waiting, d.waiting = append(waiting, d.waiting...), nil
	}
	r.desks = nil
	return waiting
}

// take has a read wait for its turn, or refuses it.
func (r *Reader) take(m *nats.Msg) {
	stream, subject, member, ok := r.readings.Parse(m.Subject)
	if !ok || len(m.Subject) > subjects.MostLength { // a server is asked with a longer line than came
		r.refuse(m.Reply, statusNothing, "expected a stream and a subject")
		return
	}
	info, ok := said.By(m, m.Size())
	if !ok || len(m.Header) != 1 { // who reads sends no header
		_ = r.conn.NC.Publish(m.Reply, nil)
		return
	}
	name, leaf := sender(info)
	whose := objectOf(name, leaf)
	if member != "" { // whoever asks: each member behind a leaf node has its own place
		whose = objectOf(member, false)
	}
	now, why := r.conn.Now(), many
	if len(m.Data) > 0 { // no agent sends any, and nothing that waits shall hold it
		why = body
	} else if r.wait(whose, read{stream, subject, m.Reply, now}) {
		return
	}
	// Others speak over the links of a leaf node too: they are cut for what all of them have waiting together.
	cuts := name != "" && (!leaf || member == "" && len(m.Data) == 0)
	if !r.note(whose, now) {
		// Of a flood the least that there is: servers keep for minutes what nobody answered, and reads of others wait behind this.
		_ = r.conn.NC.Publish(m.Reply, nil)
		return
	}
	if cuts && r.cut != nil {
		r.cut(name, leaf)
	}
	r.respond(&nats.Msg{Subject: m.Reply, Header: why})
}

// What is answered to who has too many reads waiting, and to who sends a body with one.
var (
	many = nats.Header{bus.HeaderStatus: {statusMany}, bus.HeaderDescription: {"too many reads wait already, ask again"}}
	body = nats.Header{bus.HeaderStatus: {statusNothing}, bus.HeaderDescription: {"expected no body"}}
)

// note names whose reads are refused, and says whether to cut them and to say why: of a flood now and then.
func (r *Reader) note(whose string, now time.Time) (answer bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if d := r.desk(whose, now); d == nil || !refused.Take(&d.refused, now) {
		return false
	}
	r.held.note(whose, now)
	return true
}

// objectOf is the object of a member, or of a leaf node.
func objectOf(name string, leaf bool) string {
	if leaf {
		return ofLeaf + name
	}
	return api.AuditObject(api.AuditMember, name)
}

var ofLeaf = api.AuditObject(api.AuditServer, "")

// wait has a read wait for its turn; false where too many of its object do.
func (r *Reader) wait(whose string, of read) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := r.desk(whose, of.asked)
	if d == nil {
		return true
	}
	if len(d.waiting) >= room(whose) {
		return false
	}
	if d.waiting = append(d.waiting, of); !d.busy {
		d.busy = true
		r.begin(d)
	}
	return true
}

// desk is that of an object, nil once nobody is answered any more.
func (r *Reader) desk(whose string, now time.Time) *desk {
	if r.desks == nil {
		return nil
	}
	d := r.desks[whose]
	if d == nil {
		r.sweep(now)
		d = &desk{}
		r.desks[whose] = d
	}
	return d
}

// room is how many reads may wait at a desk.
func room(whose string) int {
	if strings.HasPrefix(whose, ofLeaf) {
		return mostOfLeaf
	}
	return mostWaiting
}

// sweep forgets who reads nothing any more and owes nothing.
func (r *Reader) sweep(now time.Time) {
	if now.Sub(r.swept) < sweepEvery {
		return
	}
	r.swept = now
	maps.DeleteFunc(r.desks, func(_ string, d *desk) bool { return !d.busy && d.sent.Full(now) })
	r.held.sweep(now)
}

// sender is who reads, as servers say: the member of an agent, or the leaf node that speaks for its agents. It is looked at for each read of a
// flood, so it is not decoded: names of users need no escaping, and in what clients choose quotes are escaped.
func sender(info string) (name string, leaf bool) {
	_, name, _ = strings.Cut(info, `,"name_tag":"`)
	name, _, _ = strings.Cut(name, `"`) // who is not named shares a desk with all who are not
	if strings.Contains(info, `,"kind":"Leafnode"`) {
		return strings.CutPrefix(name, subjects.LeafPrefix)
	}
	return name, false
}

// serve answers what waits at a desk, until nothing does.
func (r *Reader) serve(ctx context.Context, d *desk) {
	for {
		next, late, pause, more := r.next(d)
		for _, of := range late {
			r.tooLate(of)
		}
		if !more {
			return
		}
		if pause > 0 {
			if !loop.Pause(ctx, pause) {
				return
			}
			continue
		}
		size := r.inSlot(ctx, next)
		r.mu.Lock()
		sent.Spend(&d.sent, r.conn.Now(), 1+size/unit)
		r.mu.Unlock()
	}
}

// inSlot answers a read, once there is a slot where a server is to be asked, and says how much it sent.
func (r *Reader) inSlot(ctx context.Context, next read) (size int) {
	if known := r.cache.find(next.stream, next.subject); known != nil {
		return r.give(next, known)
	}
	select {
	case <-ctx.Done():
		return 0
	case r.slots <- struct{}{}:
	}
	defer func() { <-r.slots }()
	if next.late(r.conn.Now()) {
		r.tooLate(next)
		return 0
	}
	answer := r.ask(ctx, next)
	r.cache.keep(next.stream, next.subject, answer)
	return r.give(next, answer)
}

// late says that nobody waits for the answer any more.
func (of *read) late(now time.Time) bool { return now.Sub(of.asked) > bus.AskTimeout }

func (r *Reader) tooLate(of read) { r.refuse(of.reply, statusLate, "it waited too long, ask again") }

// next takes the next read that somebody still waits for, and those before it that nobody does, or says how long to pause before. Without one
// the desk is left.
func (r *Reader) next(d *desk) (next read, late []read, pause time.Duration, more bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.conn.Now()
	for len(d.waiting) > 0 && d.waiting[0].late(now) {
		late, d.waiting = append(late, d.waiting[0]), d.waiting[1:]
	}
	switch pause = sent.Next(&d.sent, now).Sub(now); {
	case len(d.waiting) == 0:
		d.waiting, d.busy = nil, false
		return read{}, late, 0, false
	case pause > 0:
		return read{}, late, pause, true
	}
	next, d.waiting = d.waiting[0], d.waiting[1:]
	return next, late, 0, true
}

// give answers a read as a server would, and says how much it sent.
func (r *Reader) give(of read, answer *nats.Msg) (size int) {
	r.respond(&nats.Msg{Subject: of.reply, Header: answer.Header, Data: answer.Data})
	return len(answer.Data)
}

// ask asks a server, and returns what of its answer may be kept, or what is answered where none came.
func (r *Reader) ask(ctx context.Context, of read) *nats.Msg {
	ctx, cancel := context.WithTimeout(ctx, bus.AskTimeout)
	defer cancel()
	found, err := r.conn.NC.RequestWithContext(ctx, subjects.DirectGet(of.stream, of.subject), nil)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return &nats.Msg{Header: nats.Header{bus.HeaderStatus: {bus.StatusNoResponders}}}
	case err != nil: // servers keep what is to be answered until it is
		return &nats.Msg{Header: nats.Header{bus.HeaderStatus: {statusLate}, bus.HeaderDescription: {"no server answered, ask again"}}}
	}
	return &nats.Msg{Header: found.Header, Data: found.Data}
}

func (r *Reader) refuse(reply, status, description string) {
	r.respond(&nats.Msg{Subject: reply, Header: nats.Header{bus.HeaderStatus: {status}, bus.HeaderDescription: {description}}})
}

func (r *Reader) respond(answer *nats.Msg) {
	if err := r.conn.NC.PublishMsg(answer); err != nil {
		r.conn.Log.Debug().Err(err).Msg("answering what an agent reads")
	}
}
