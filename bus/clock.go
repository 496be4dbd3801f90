package bus

import "time"

// Clock is a clock that was given, or the machine's where none was.
func Clock(now func() time.Time) func() time.Time {
	if now == nil {
		return time.Now
	}
	return now
}

// Now is the clock of the process that connected. Everything a process tells or decides goes by it; NATS
// and what keeps the connection up go by the machine's. Where the two meet, times are translated here.
func (c *Conn) Now() time.Time {
	return Clock(c.now)()
}

// ahead is how far the clock of the process is ahead of the machine's, without what passes between two
// looks at them.
func (c *Conn) ahead() time.Duration {
	if c.now == nil {
		return 0
	}
	return time.Until(c.now()).Round(time.Millisecond)
}

// FromMachine is a time of the machine's, or of the broker's, by the clock of the process.
func (c *Conn) FromMachine(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Add(c.ahead())
}

// ToMachine is a time of the process's by the clock of the machine.
func (c *Conn) ToMachine(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Add(-c.ahead())
}
