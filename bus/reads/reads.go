package reads

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"flotilla/bus"
	"flotilla/bus/loop"
	"flotilla/core/api"
	"flotilla/core/pace"
	"flotilla/subjects"
)

const (
	// mostWaiting is how many reads of one member wait at most while one is answered.
	mostWaiting = 64
	// mostAtOnce is how many reads of all members are answered at once.
	mostAtOnce = 32
	// mostPending is how many reads of all members are not looked at yet; what comes then is lost, and asked again.
	mostPending, mostPendingBytes = 16 << 10, 32 << 20
	// unit is what reads are counted in, bytes.
	unit = 4 << 10
)

// sent is what one member is sent: 8 MiB at once, and 16 MiB a second.
var sent = pace.Rate{Burst: 8 << 20 / unit, Every: time.Second * unit / (16 << 20)}

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
	cut   func(member string)
	// readings are the subjects of reads.
	readings subjects.Readings
	begin    func(whose string, d *desk) // to answer what waits at a desk
	end      context.CancelFunc

	mu      sync.Mutex
	running sync.WaitGroup
	desks   map[string]*desk // by the object whose they are
	held    held
}

// desk is where reads of one member wait.
type desk struct {
	waiting []read
	busy    bool
	sent    pace.Bucket
}

// read is what was asked for. It is no message: one that is kept keeps all that came after it.
type read struct {
	stream, subject, reply string
	asked                  time.Time
}

// Serve answers reads until Stop. The connection is the reader's. Cut, nil for nothing, cuts the connections of the agent of a member who asks
// for more than may wait: it would go on to ask faster than it is refused.
func Serve(c *bus.Conn, cut func(member string)) (*Reader, error) {
	r := &Reader{conn: c, cut: cut, readings: c.Fleet.Readings(), slots: make(chan struct{}, mostAtOnce), cache: newCache(c.Fleet.BucketStream(subjects.Content)), desks: map[string]*desk{}, held: held{}}
	ctx, cancel := context.WithCancel(context.Background())
	r.begin, r.end = func(whose string, d *desk) { r.running.Go(func() { r.serve(ctx, whose, d) }) }, cancel
	asked, err := c.NC.QueueSubscribe(c.Fleet.AllReadings(), "hubs", r.take)
	if err == nil {
		err = asked.SetPendingLimits(mostPending, mostPendingBytes)
	}
	if err != nil {
		return nil, fmt.Errorf("answering what agents read: %w", err)
	}
	return r, nil
}

// Stop closes the connection, and returns once nothing is answered any more.
func (r *Reader) Stop() {
	r.end()
	r.conn.Close()
	r.mu.Lock()
	r.desks = nil // nothing begins any more
	r.mu.Unlock()
	r.running.Wait()
}

// take has a read wait for its turn, or refuses it.
func (r *Reader) take(m *nats.Msg) {
	stream, subject, member, ok := r.readings.Parse(m.Subject)
	if !ok {
		r.refuse(m.Reply, statusNothing, "expected a stream and a subject")
		return
	}
	whose := api.AuditObject(api.AuditMember, member)
	if member == "" {
		whose = sender(m.Header.Get(bus.HeaderInfo))
	}
	if r.wait(whose, read{stream, subject, m.Reply, r.conn.Now()}) {
		return
	}
	if name, is := strings.CutPrefix(whose, api.AuditObject(api.AuditMember, "")); is && name != "" && r.cut != nil {
		r.cut(name)
	}
	r.respond(&nats.Msg{Subject: m.Reply, Header: many})
}

// many is what is answered to who has too many.
var many = nats.Header{bus.HeaderStatus: {statusMany}, bus.HeaderDescription: {fmt.Sprintf("%d reads wait already, ask again", mostWaiting)}}

// wait has a read wait for its turn; false where too many of its object do.
func (r *Reader) wait(whose string, of read) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.desks == nil {
		return true // nobody is answered any more
	}
	d := r.desks[whose]
	if d == nil {
		d = &desk{}
		r.desks[whose] = d
	}
	if len(d.waiting) >= mostWaiting {
		r.held.note(whose, of.asked)
		return false
	}
	if d.waiting = append(d.waiting, of); !d.busy {
		d.busy = true
		r.begin(whose, d)
	}
	return true
}

// sender is the object of who reads, as servers say: the member of an agent, or the leaf node that speaks for its agents. It is looked at for
// each read of a flood, so it is not decoded: names of users need no escaping, and in what clients choose quotes are escaped.
func sender(info string) string {
	_, name, _ := strings.Cut(info, `,"name_tag":"`)
	name, _, _ = strings.Cut(name, `"`) // who is not named shares a desk with all who are not
	if leaf, found := strings.CutPrefix(name, subjects.LeafPrefix); found && strings.Contains(info, `,"kind":"Leafnode"`) {
		return api.AuditObject(api.AuditServer, leaf)
	}
	return api.AuditObject(api.AuditMember, name)
}

// serve answers what waits at a desk, until nothing does.
func (r *Reader) serve(ctx context.Context, whose string, d *desk) {
	for {
		next, pause, more := r.next(whose, d)
		if !more {
			return
		}
		if pause > 0 {
			if !loop.Pause(ctx, pause) {
				return
			}
			continue
		}
		r.slots <- struct{}{}
		size := r.answer(ctx, next)
		<-r.slots
		r.mu.Lock()
		sent.Spend(&d.sent, r.conn.Now(), 1+size/unit)
		r.mu.Unlock()
	}
}

// next takes the next read that somebody still waits for, or says how long to pause before. Without one the desk is left.
func (r *Reader) next(whose string, d *desk) (next read, pause time.Duration, more bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.conn.Now()
	for len(d.waiting) > 0 && now.Sub(d.waiting[0].asked) > bus.AskTimeout {
		r.refuse(d.waiting[0].reply, statusLate, "it waited too long, ask again")
		d.waiting = d.waiting[1:]
	}
	switch pause = sent.Next(&d.sent, now).Sub(now); {
	case len(d.waiting) == 0:
		d.waiting, d.busy = nil, false
		if d.sent.Full(now) {
			delete(r.desks, whose)
		}
		return read{}, 0, false
	case pause > 0:
		return read{}, pause, true
	}
	next, d.waiting = d.waiting[0], d.waiting[1:]
	return next, 0, true
}

// answer answers a read as a server would, and says how much it sent.
func (r *Reader) answer(ctx context.Context, of read) (size int) {
	answer := r.cache.find(of.stream, of.subject)
	if answer == nil {
		answer = r.ask(ctx, of)
		r.cache.keep(of.stream, of.subject, answer)
	}
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
