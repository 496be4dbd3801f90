// Package pace bounds how often something is done: so many at once, and one more each time that has passed.
//
// core/liveness paces with it what members change, rooms what they warn of. The time is an argument, and nothing blocks. A clock that goes
// back stops nothing and gives nothing; one that goes forward gives what that time would have given, all of it at most.
package pace

import "time"

// Rate is how often something may be done: Burst times at once, which is 1 at least, and after that once each Every.
type Rate struct {
	Burst int
	Every time.Duration
}

// Bucket is what was done of late at one Rate. The zero value is that of which nothing was done.
type Bucket struct {
	owed time.Duration // until it is as if nothing had been done
	at   time.Time     // since when that is owed
}

// Take reports whether one more may be done, and counts it if so.
func (r Rate) Take(b *Bucket, now time.Time) bool {
	if r.Next(b, now).After(now) {
		return false
	}
	b.owed += r.Every
	return true
}

// Spend counts n more, whether they may be done or not: Next says when the next one may.
func (r Rate) Spend(b *Bucket, now time.Time, n int) {
	b.owed = b.owes(now) + time.Duration(n)*r.Every
}

// Next is when one more may be done, now at the earliest.
func (r Rate) Next(b *Bucket, now time.Time) time.Time {
	return now.Add(max(0, b.owes(now)-time.Duration(r.Burst-1)*r.Every))
}

// Rests is when it is as if nothing had been done, now at the earliest.
func (b *Bucket) Rests(now time.Time) time.Time { return now.Add(b.owes(now)) }

// Full says that it is as if nothing had been done.
func (b *Bucket) Full(now time.Time) bool { return b.owes(now) == 0 }

func (b *Bucket) owes(now time.Time) time.Duration {
	b.owed = max(0, b.owed-max(0, now.Sub(b.at)))
	b.at = now
	return b.owed
}
