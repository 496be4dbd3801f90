package reads

import (
	"net"
	"time"

	"github.com/nats-io/nats.go"

	"flotilla/bus"
)

// brake says whether a connection is to read nothing for now. What a server cannot send it keeps, up to a bound, and meanwhile holds the
// clients back that send it; what is read and finds no room is lost.
type brake func() bool

// brakeFor is the pause before a brake is asked again, brakeMost for how long at most one reading waits: what clears the way may itself wait for
// a connection that begins anew.
const brakeFor, brakeMost = 500 * time.Microsecond, time.Second

// option has a connection heed it, in the process of a server or, where that is nil, beyond it.
func (b brake) option(server bus.Embedded) nats.Option {
	if server != nil {
		return nats.InProcessServer(brakedProcess{server, b})
	}
	return nats.SetCustomDialer(brakedDialer{net.Dialer{Timeout: bus.DialTimeout}, b})
}

type brakedProcess struct {
	nats.InProcessConnProvider
	brake brake
}

func (p brakedProcess) InProcessConn() (net.Conn, error) {
	conn, err := p.InProcessConnProvider.InProcessConn()
	if err != nil {
		return nil, err
	}
	return &brakedConn{conn, p.brake}, nil
}

type brakedDialer struct {
	net.Dialer
	brake brake
}

func (d brakedDialer) Dial(network, address string) (net.Conn, error) {
	conn, err := d.Dialer.Dial(network, address)
	if err != nil {
		return nil, err
	}
	return &brakedConn{conn, d.brake}, nil
}

type brakedConn struct {
	net.Conn
	brake brake
}

func (c *brakedConn) Read(p []byte) (int, error) {
	for began := time.Now(); c.brake() && time.Since(began) < brakeMost; {
		<-time.After(brakeFor)
	}
	return c.Conn.Read(p)
}
