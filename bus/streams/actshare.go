package streams

import (
	"sync"
	"time"
)

// hoursOfADay is over how many hours what people did is counted.
const hoursOfADay = 24

// actShares counts what is stored of what each person did.
type actShares struct {
	mu sync.Mutex
	of map[string]*actsOf
}

// actsOf are the bytes of one person by hour, the newest under newest.
type actsOf struct {
	bytes  [hoursOfADay]int64
	newest int64 // hours since 1970
}

func (s *actShares) add(person string, bytes int, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = map[string]*actsOf{}
	}
	one := s.of[person]
	if one == nil {
		one = &actsOf{}
		s.of[person] = one
	}
	one.pass(now)
	one.bytes[one.newest%hoursOfADay] += int64(bytes)
}

// pass forgets what is a day old.
func (a *actsOf) pass(now time.Time) {
	hour := now.Unix() / int64(time.Hour/time.Second)
	a.newest = max(a.newest, hour-hoursOfADay)
	for a.newest < hour {
		a.newest++
		a.bytes[a.newest%hoursOfADay] = 0
	}
}

// held are the bytes of a person in the last day, and from when on they are no more than most.
func (s *actShares) held(person string, most int64, now time.Time) (bytes int64, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.of[person]
	if one == nil {
		return 0, time.Time{}
	}
	one.pass(now)
	for _, of := range one.bytes {
		bytes += of
	}
	for hour, left := one.newest-hoursOfADay+1, bytes; left > most; hour++ {
		left -= one.bytes[hour%hoursOfADay]
		until = time.Unix((hour+hoursOfADay)*int64(time.Hour/time.Second), 0)
	}
	return bytes, until
}

// Acts are how many bytes are stored of what a person did in the last day, as far as this hub led, and from when on they are no more than
// most.
func (a *Audit) Acts(person string, most int64) (bytes int64, until time.Time) {
	return a.acts.held(person, most, a.conn.Now())
}
