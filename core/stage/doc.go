// Package stage decides how a run goes over members: stage after stage and group by group, as many at
// once as may be, with gates, waits and maintenance windows, until too many have failed or nobody is
// left. What is done to a member it does not know: it asks the Work that it is given.
//
// Who decides on a kind of work makes a Run of a status and calls Step on every wake, or Operate when a
// user asks for something; each returns the new status, which locks to take and to give back, what
// changed as events, and when to look again. Tree makes the status of a new run. The order in which
// members get slots is the work's, and so is what becomes of one that is Overdue by the policy: its
// Record may fail it, or say that it is stuck and wait. How many may fail stands in the tree. Everything else tells people of a status.
//
// Equal inputs give equal outputs; the status that comes in is never changed; times are whole seconds
// of UTC, and deadlines are absolute, so that a hub that restarts goes on where another one ended.
package stage
