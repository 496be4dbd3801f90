// Package schedule decides which members a placement goes to, and says of every other member why not.
//
// It decides as KubeFleet does, but for the rules D1 to D33. The scheduler room, the plan
// and the explanations of `why` call Schedule with the same Input, so that all three agree. Schedule
// changes nothing it is given, reads no clock, and returns equal plans for equal inputs, whatever
// the order in which members entered the fleet.
//
// A Fleet keeps members in columns, one a label key and one a property, because a decision scans ten
// thousand of them in well under a millisecond. It is filled once and then changed in place. Fleets
// may be read by several goroutines, but not while one changes them.
package schedule
